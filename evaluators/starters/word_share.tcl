#!/usr/bin/env tclsh
# An evaluator in Tcl: which share of the words the candidate and the example's `target` have in common.
# Tcl has no JSON: `value` reads it into lists of a kind and a value, and relies on a payload being JSON.
# echo '{"candidate":"hello Ada","example":{"target":"Hello, dear Ada!"}}' | tclsh word_share.tcl
fconfigure stdin -translation binary ;# bytes: UTF-8 whatever the locale is
fconfigure stdout -translation binary -buffering line ;# send each answer at once

proc decoded {text} {
    foreach piece [regexp -all -inline {\\u[dD][89abAB]..\\u....|\\u....|\\.|[^\\]+} $text] {
        if {[scan $piece {\u%4x\u%4x} high low] == 2} {
            set code [expr {0x10000 + (($high & 0x3FF) << 10) + ($low & 0x3FF)}]
            foreach {lead shift} {0xF0 18 0x80 12 0x80 6 0x80 0} {
                append said [format %c [expr {$lead | ($code >> $shift & ($lead == 0xF0 ? 7 : 63))}]]
            }
        } elseif {[scan $piece {\u%4x} code] == 1} {
            append said [encoding convertto utf-8 [format %c $code]]
        } else {
            append said [string map {\\\\ \\ \\b \b \\f \f \\n \n \\r \r \\t \t \\\" \" \\/ /} $piece]
        }
    }
    return [append said ""]
}
proc value {text place} { # moves the place behind the value
    upvar 1 $place at
    if {![regexp -indices -start $at {[^ \t\r\n,:]} $text found]} { error "stdin ended inside a payload" }
    set first [string index $text [set at [lindex $found 0]]]
    if {$first in {\{ \[}} {
        for {incr at; set values {}} {[lindex [set inner [value $text at]] 0] ne "end"} {} {
            set key [dict size $values] ;# a list's values stand under their places
            if {$first eq "\{"} { set key [lindex $inner 1]; set inner [value $text at] }
            dict set values $key $inner
        }
        return [list values $values]
    }
    set pattern {(?:[^]\},[:space:]]+|[]\}])}
    if {$first eq "\""} { set pattern {"(?:[^"\\]|\\.)*"} }
    regexp -indices -start $at $pattern $text found
    set word [string range $text $at [lindex $found 1]]
    set at [expr {[lindex $found 1] + 1}]
    if {$first eq "\""} { return [list text [decoded [string range $word 1 end-1]] $word] }
    return [list [expr {$first in {\} \]} ? "end" : "other"}] $word]
}
proc member {value key} {
    lassign $value kind values
    if {$kind eq "values" && [dict exists $values $key]} { return [dict get $values $key] }
}
foreach capital [split ABCDEFGHIJKLMNOPQRSTUVWXYZ ""] { lappend small $capital [string tolower $capital] }
proc words {value} { # letters and digits in a row; only A to Z are made small
    if {[lindex $value 0] ne "text"} return
    return [regexp -all -inline {[a-z0-9\u0080-\u00ff]+} [string map $::small [lindex $value 1]]]
}
proc judge {candidate target} { # change this: answer a score from 0 to 1 and what explains it, or an error, or a skip
    foreach word [words $candidate] { set known($word) 1 }
    foreach word [words $target] { incr words; incr found [info exists known($word)] }
    if {![info exists words]} { return {"error":"the example needs a target, a text with a word in it"} }
    set words [expr {max($words, [llength [words $candidate]])}] ;# whoever says more than is wanted scores less
    return "\"score\":[expr {double($found) / $words}],\"found\":$found,\"words\":$words"
}
while {[gets stdin line] >= 0} { # further payloads may come as further lines
    set at 0
    set payload [value $line at]
    set id [lindex [member $payload _id] 2]
    set answer [judge [member $payload candidate] [member [member $payload example] target]]
    puts "{$answer,\"_capabilities\":{\"persistent\":true}[expr {$id eq "" ? "" : ",\"_id\":$id"}]}"
}
