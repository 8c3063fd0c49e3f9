#!/usr/bin/env lua
-- An evaluator in Lua (5.3 or newer): which share of the words the candidate and the example's `target` have in common.
--
-- echo '{"candidate":"hello Ada","example":{"target":"Hello, dear Ada!"}}' | lua word_share.lua

local signs = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

local function decoded(said) -- in an order in which no backslash is read twice
  said = said:gsub("\\\\", "\\u005c"):gsub("\\([^u])", function(sign) return signs[sign] or sign end)
  said = said:gsub("\\u([dD][89abAB]%x%x)\\u(%x%x%x%x)", function(high, low)
    return utf8.char(0x10000 + (tonumber(high, 16) & 0x3ff) * 0x400 + (tonumber(low, 16) & 0x3ff))
  end)
  return (said:gsub("\\u(%x%x%x%x)", function(code) return utf8.char(tonumber(code, 16)) end))
end

-- Lua has no JSON: this returns the value at a place, and the place after it. It relies on a payload being
-- JSON; null and false are nil.
local function value(text, at)
  at = text:find("[^ \t\r\n,:]", at)
  local first = text:sub(at, at)
  if first == '"' then
    local stop = text:find('["\\]', at + 1)
    while text:sub(stop, stop) == "\\" do stop = text:find('["\\]', stop + 2) end
    return decoded(text:sub(at + 1, stop - 1)), stop + 1
  elseif first == "{" or first == "[" then
    local found, key = {}, nil
    at = text:find("[^ \t\r\n,:]", at + 1)
    while not text:find("^[}%]]", at) do
      if first == "{" then key, at = value(text, at) else key = (key or 0) + 1 end
      found[key], at = value(text, at)
      at = text:find("[^ \t\r\n,:]", at)
    end
    return found, at + 1
  end
  local word = text:match("^[^%]},%s]+", at)
  return word == "true" or tonumber(word), at + #word
end

local function quoted(text) -- JSON of a text
  return '"' .. text:gsub('[%c"\\]', function(sign) return ("\\u%04x"):format(sign:byte()) end) .. '"'
end

-- Change this: return a score from 0 to 1 and whatever explains it, or an error, or a skip, as JSON without its braces.
local function judge(candidate, example)
  local word, known, size, words, found = "[a-z0-9\x80-\xff]+", {}, 0, 0, 0 -- only A to Z are made small
  for said in candidate:lower():gmatch(word) do known[said], size = true, size + 1 end
  for wanted in (type(example.target) == "string" and example.target or ""):lower():gmatch(word) do
    words, found = words + 1, found + (known[wanted] and 1 or 0)
  end
  if words == 0 then return '"error":"the example needs a target, a text with a word in it"' end
  return ('"score":%.17g,"found":%d,"words":%d'):format(found / math.max(words, size), found, math.max(words, size))
end

for line in io.lines() do -- further payloads may come as further lines
  local payload = value(line, 1)
  local id = payload._id and ',"_id":' .. quoted(payload._id) or ""
  local said = judge(payload.candidate, payload.example or {})
  print("{" .. said .. ',"_capabilities":{"persistent":true}' .. id .. "}")
  io.flush()
end
