#!/usr/bin/env bash
#SBATCH --job-name=optimize-eval
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=08:00:00
#SBATCH --signal=B:TERM@120
#
# A Ray cluster over the nodes of a job, for one command, which goes on where it was when it is submitted again:
#
#   sbatch --nodes=8 slurm.sh run sweep.toml --out runs/large
#
# VENV is the environment with `optimize-eval[ray]`, on a file system that all nodes see, as is the folder from
# which the job is submitted. Two minutes before the job's time is over the command is asked to end.
set -euo pipefail

PATH=${VENV:-$PWD/.venv}/bin:$PATH
head=${HEAD:-$(hostname -I | awk '{print $1}')} # this node's private address: the others reach it there
address=$head:$((20000 + SLURM_JOB_ID % 10000))
sessions=/tmp/ray-$SLURM_JOB_ID # short, as sockets lie in it, and of this job alone
token=$PWD/.ray-token-$SLURM_JOB_ID
export RAY_USAGE_STATS_ENABLED=0 RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH=$token
unset RAY_AUTH_TOKEN # it would count for more than the file

node=(ray start --block --disable-usage-stats --temp-dir "$sessions" --num-cpus "$SLURM_CPUS_ON_NODE")
started=()
end() {
  trap - EXIT TERM
  [ "${#started[@]}" -eq 0 ] || kill "${started[@]}" 2> /dev/null || true
  wait || true
  timeout 30 srun --overlap rm -rf "$sessions" || true # on every node
  rm -f "$token"
}
trap end EXIT

(umask 077 && od -An -N32 -tx1 /dev/urandom | tr -d ' \n' > "$token")
"${node[@]}" --head --include-dashboard=false --node-ip-address "$head" --port "${address##*:}" &
started+=("$!")
until (exec 3<> "/dev/tcp/$head/${address##*:}") 2> /dev/null; do
  kill -0 "${started[0]}" # else the head has ended, and said why
  sleep 0.2
done

if [ "$SLURM_JOB_NUM_NODES" -gt 1 ]; then
  others=$((SLURM_JOB_NUM_NODES - 1))
  srun --overlap --nodes="$others" --ntasks="$others" --exclude="$SLURMD_NODENAME" --kill-on-bad-exit=0 \
    "${node[@]}" --address "$address" &
  started+=("$!")
fi

asked=
trap 'asked=yes' TERM
optimize-eval "$@" --engine ray --address "$address" &
command=$!
trap 'asked=yes; kill -TERM "$command"' TERM # it writes down what it has, and ends
[ -z "$asked" ] || kill -TERM "$command"
asked=yes
while [ -n "$asked" ]; do # the signal ends the wait, and not the command
  asked='' code=0
  wait "$command" || code=$?
done
exit "$code"
