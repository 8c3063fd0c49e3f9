// An evaluator in Go: which share of the words the candidate and the example's `target` have in common.
// echo '{"candidate":"hello Ada","example":{"target":"Hello, dear Ada!"}}' | go run word_share.go
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"regexp"
	"strings"
)

type payload struct {
	Candidate string                     `json:"candidate"`
	Example   map[string]json.RawMessage `json:"example"` // a struct's names would match TARGET, too
	ID        json.RawMessage            `json:"_id"`
}

// A word is letters and digits in a row; only A to Z are made small.
var word, capitals = regexp.MustCompile(`[a-z0-9\x{80}-\x{10ffff}]+`), regexp.MustCompile(`[A-Z]+`)

func words(text string) []string {
	return word.FindAllString(capitals.ReplaceAllStringFunc(text, strings.ToLower), -1)
}

// Change this: answer a "score" from 0 to 1 and whatever explains it, or an "error", or a "skip".
func judge(candidate string, example map[string]json.RawMessage) map[string]any {
	target, known, found := "", map[string]bool{}, 0
	if json.Unmarshal(example["target"], &target) != nil || len(words(target)) == 0 {
		return map[string]any{"error": "the example needs a target, a text with a word in it"}
	}
	wanted, said := words(target), words(candidate)
	for _, word := range said {
		known[word] = true
	}
	for _, word := range wanted {
		if known[word] {
			found++
		}
	}
	longer := math.Max(float64(len(wanted)), float64(len(said))) // whoever says more than is wanted scores less
	return map[string]any{"score": float64(found) / longer, "found": found, "words": int(longer)}
}

func main() {
	for input := json.NewDecoder(os.Stdin); ; { // further payloads may come as further lines
		var asked payload
		if err := input.Decode(&asked); err == io.EOF {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		said, _ := json.Marshal(judge(asked.Candidate, asked.Example))
		if asked.ID != nil {
			asked.ID = append([]byte(`,"_id":`), asked.ID...)
		}
		fmt.Printf("%s,\"_capabilities\":{\"persistent\":true}%s}\n", said[:len(said)-1], asked.ID)
	}
}
