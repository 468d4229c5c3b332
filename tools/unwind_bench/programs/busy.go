// Goroutines that sort, fill maps and write JSON: stacks of goroutines, of the collector and of the
// scheduler, on several threads.
package main

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"sync"
)

type node struct {
	Name        string
	Left, Right *node `json:",omitempty"`
}

func tree(depth, seed int) *node {
	if depth == 0 {
		return &node{Name: fmt.Sprintf("item %05d", seed*7919%20000)}
	}
	return &node{Left: tree(depth-1, seed*2), Right: tree(depth-1, seed*2+1)}
}

func (n *node) visit(see func(string)) {
	if n.Name != "" {
		see(n.Name)
		return
	}
	n.Left.visit(see)
	n.Right.visit(see)
}

func round(seed int) int {
	count := map[string]int{}
	names := []string{}
	tree(9, seed).visit(func(name string) {
		count[name]++
		names = append(names, strings.ToUpper(name))
	})
	sort.Slice(names, func(i, j int) bool { return names[i] < names[j] })
	text, err := json.Marshal(tree(7, seed))
	if err != nil {
		panic(err)
	}
	return len(count) + len(names) + len(text)
}

func main() {
	var done sync.WaitGroup
	for worker := 0; worker < 4; worker++ {
		done.Add(1)
		go func(seed int) {
			defer done.Done()
			for {
				seed += round(seed) & 1
			}
		}(worker)
	}
	done.Wait()
}
