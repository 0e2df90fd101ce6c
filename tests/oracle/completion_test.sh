#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# completion_test.sh MOTE: the output of `mote completion` completes command lines in the shells that are
# installed, and the manual page is valid. All of them have the words of --help.
set -euo pipefail
mote=$1
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
failed=0
wrong() {
  echo "wrong: $*"
  failed=1
}

for shell in bash zsh fish; do "$mote" completion "$shell" >"$folder/$shell"; done
"$mote" --help-man >"$folder/mote.1"

# Each command and long option of --help is in each output.
commands="$("$mote" --help | sed -n '/^Subcommands:/,$p' | sed -nE 's/^  ([a-z]+) .*/\1/p')"
[[ $(wc -w <<<"$commands") -ge 8 ]] || wrong "few commands in --help: $commands"
for command in $commands; do
  for file in bash zsh fish; do
    grep -qw -- "$command" "$folder/$file" || wrong "$file lacks $command"
  done
  options="$("$mote" "$command" --help | grep -oE '^ +(-[a-z],)?--[a-z-]+' | grep -oE -- '--[a-z-]+' || true)"
  [[ -n $options ]] || wrong "no options of $command"
  for option in $options; do
    grep -qF -- "$option" "$folder/bash" || wrong "bash lacks $command $option"
    grep -qF -- "$option" "$folder/zsh" || wrong "zsh lacks $command $option"
    grep -qF -- "-l ${option#--}" "$folder/fish" || wrong "fish lacks $command $option"
    grep -qF -- "${option//-/\\-}" "$folder/mote.1" || wrong "the manual lacks $command $option"
  done
done

# In bash, the function that `complete` names offers completions for a line.
complete_in_bash() {
  bash --norc -c '
    source "$1"; shift
    spec=$(complete -p mote); [[ $spec == *"-F _mote"* ]] || exit 1
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mote 2>/dev/null
    printf "%s\n" "${COMPREPLY[@]}"' bash "$folder/bash" "$@"
}
offers() {  # SHELL EXPECTED GOT...
  local shell=$1 expected=$2
  shift 2
  grep -qxF -- "$expected" <<<"$*" || wrong "$shell: expected $expected among: $(head -c 200 <<<"$*")"
}
offers_not() {
  local shell=$1 unexpected=$2
  shift 2
  ! grep -qxF -- "$unexpected" <<<"$*" || wrong "$shell: did not expect $unexpected"
}
offers bash check "$(complete_in_bash mote che)"
offers bash --budget "$(complete_in_bash mote check --bud)"
offers_not bash --lang "$(complete_in_bash mote check --)"
offers bash --lang "$(complete_in_bash mote emit --)"
offers bash conv2d "$(complete_in_bash mote check conv)"
offers bash layer_norm "$(complete_in_bash mote emit --dtype f32 layer)"
offers bash openblas "$(complete_in_bash mote check --backend op)"
offers bash resnet50 "$(complete_in_bash mote check --cases res)"
offers bash bf16 "$(complete_in_bash mote check gemm --dtype b)"
offers bash never "$(complete_in_bash mote check --color = n)"
offers bash schedule "$(complete_in_bash mote explain --stage sch)"
offers bash zsh "$(complete_in_bash mote completion z)"
offers bash plan "$(complete_in_bash mote graph pl)"
offers bash --streams "$(complete_in_bash mote graph check --str)"
touch "$folder/with blank.so"
(cd "$folder" && offers bash "with blank.so" "$(complete_in_bash mote check --plugin with)"; exit "$failed") || failed=1

if command -v zsh >/dev/null; then
  zsh -n "$folder/zsh" || wrong "zsh does not parse it"
  cat >"$folder/zsh_test" <<'EOF'
zmodload zsh/zpty
zpty shell "zsh -f -i"
ask() { zpty -w shell "$1"; }
ask "PS1=; unsetopt zle_bracketed_paste; autoload -U compinit; compinit -u -D; zstyle ':completion:*' list-prompt ''; stty cols 300; LISTMAX=10000; source $1"
ask "bindkey '^I' complete-word"
sleep 1
zpty -w -n shell "mote $2"$'\t'
sleep 1.5
zpty -r -t shell all '*' || true
while zpty -r -t shell line; do all+=$line; done
print -r -- "$all"
zpty -d shell
EOF
  complete_in_zsh() { timeout 20 zsh -f "$folder/zsh_test" "$folder/zsh" "$1" | tr -d '\r'; }
  grep -q "check --budget" <<<"$(complete_in_zsh 'check --budg')" || wrong "zsh does not complete an option"
  grep -q "graph plan" <<<"$(complete_in_zsh 'graph pla')" || wrong "zsh does not complete a command of graph"
  grep -q "emit layer_norm" <<<"$(complete_in_zsh 'emit layer_n')" || wrong "zsh does not complete an op"
fi

if command -v fish >/dev/null; then
  complete_in_fish() {
    HOME="$folder" fish --no-config -c "source $folder/fish; complete -C 'mote $1'" 2>/dev/null | cut -f1
  }
  offers fish check "$(complete_in_fish che)"
  offers fish --budget "$(complete_in_fish 'check --bud')"
  offers_not fish --lang "$(complete_in_fish 'check --')"
  offers fish conv2d "$(complete_in_fish 'check conv')"
  offers fish openblas "$(complete_in_fish 'check --backend op')"
  offers fish plan "$(complete_in_fish 'graph pl')"
  offers fish never "$(complete_in_fish 'check --color n')"
fi

grep -q '^\.TH MOTE 1 ' "$folder/mote.1" || wrong "the manual has no title"
for code in 0 1 2 3 4 77; do
  grep -qx "\.B \"$code\"" "$folder/mote.1" || wrong "the manual lacks the exit code $code"
done
if command -v mandoc >/dev/null; then
  mandoc -T lint -W warning "$folder/mote.1" || wrong "mandoc warns"
fi
if command -v groff >/dev/null; then
  warnings="$(groff -man -ww -Tutf8 -P-cbou "$folder/mote.1" 2>&1 >"$folder/page")"
  [[ -z $warnings ]] || wrong "groff warns: $warnings"
  grep -q -- '--fail-fast' "$folder/page" || wrong "the page as shown lacks --fail-fast"
fi
exit "$failed"
