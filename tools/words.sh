#!/bin/sh
# Words that must not come back (docs/style.md), looked for in every text a person reads: documents, sources, expected output.
set -eu
cd "$(dirname "$0")/.."
words='told apart|is told|are told|as it was told|so few|whoever|stood still|not seen to|the middle trial|begotten|beget|begets|stop to grow|by the operation|x NULL|x RAM|shown all the same|laid over|go on with the study|is to be measured by|look into its log|middle trial|trials a store|row a cell|reads a second|a line a|one row a|a sentence a|so many|so much|anew|operations a second|requests a second|times a second|time an operation|instruction an operation|user.s to mend|all told|told by|least server|in vain|by turns|for want of'
found=$(git grep -nIiwE "$words" -- . ':!CHANGELOG.md' ':!docs/style.md' ':!tools/words.sh' ':!data' ':!tests' ':!*vendor*' || true)
if [ -n "$found" ]; then
    echo "words a native reader stumbles over (docs/style.md has better ones):"
    echo "$found"
    exit 1
fi
echo "words: none of those that must not come back"
