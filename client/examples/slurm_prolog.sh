#!/bin/sh
# Before the steps of a Slurm job: plan its communication, with plain curl, where they find it.
#
# Call it in the batch script, before srun:
#
#   INTERLACE_URL=http://planner:8000 INTERLACE_PLAN="plan-$SLURM_JOB_ID.json" sh slurm_prolog.sh
#
# It is not for Prolog= of slurm.conf: that runs as root, on every node of the job, and without the
# user's environment, so that it knows neither the request nor where the plan belongs. The job has
# its nodes while this waits: INTERLACE_WAIT_S is what a plan may cost.
#
#   INTERLACE_URL      of the service               (http://127.0.0.1:8000)
#   INTERLACE_REQUEST  body of POST /v1/plans       (request.json)
#   INTERLACE_PLAN     where the plan is written    (plan.json)
#   INTERLACE_WAIT_S   when the job goes on anyhow  (60)
#
# The key made of SLURM_JOB_ID makes it one job of the service, however often Slurm requeues the
# job. It never keeps a job from starting: without a plan it says why and exits with 0.
set -eu

work=
trap 'rm -rf "$work"; exit 0' EXIT # whatever fails: the job starts
trap 'exit 0' HUP INT TERM

url=${INTERLACE_URL:-http://127.0.0.1:8000}
request=${INTERLACE_REQUEST:-request.json}
plan=${INTERLACE_PLAN:-plan.json}
allowed=${INTERLACE_WAIT_S:-60}
key="slurm-${SLURM_CLUSTER_NAME:-cluster}-${SLURM_JOB_ID:-none}"
deadline=$(($(date +%s) + allowed))

without() {
  echo "interlace: no plan, the job starts without: $1" >&2
  exit 0
}

# left: seconds until the deadline, 0 when it is over.
left() {
  seconds=$((deadline - $(date +%s)))
  if [ "$seconds" -gt 0 ]; then echo "$seconds"; else echo 0; fi
}

# patience: how long the service may wait before it answers; that is before the deadline.
patience() {
  seconds=$(($(left) - 1))
  if [ "$seconds" -gt 50 ]; then seconds=50; fi
  if [ "$seconds" -gt 0 ]; then echo "$seconds"; else echo 0; fi
}

# ask ARGUMENT...: send; sets status (000: no answer), leaves the answer in $work.
ask() {
  : >"$work/body"
  : >"$work/headers"
  status=$(curl --silent --connect-timeout 5 --max-time "$(($(left) + 1))" \
    --output "$work/body" --dump-header "$work/headers" --write-out '%{http_code}' "$@") ||
    status=000
}

# header NAME: its value in the last answer.
header() {
  tr -d '\r' <"$work/headers" | sed -n "s/^$1: *//Ip" | tail -n 1
}

# field NAME: a text near the beginning of the last answer's JSON.
field() {
  head -c 4000 "$work/body" | tr '\n' ' ' | sed -n "s/^[^[]*\"$1\": *\"\([^\"]*\)\".*/\1/p"
}

case ${SLURM_JOB_ID:-} in '') without "SLURM_JOB_ID is not set" ;; esac
command -v curl >/dev/null || without "there is no curl"
[ -r "$request" ] || without "$request cannot be read"
rm -f "$plan"
work=$(mktemp -d "$plan.XXXXXX")
job=
while [ "$(left)" -gt 0 ]; do
  if [ -n "$job" ]; then
    ask "$url$job?wait=$(patience)"
  else
    ask --header 'Content-Type: application/json' --header "Idempotency-Key: $key" \
      --header "Prefer: wait=$(patience)" --data-binary "@$request" "$url/v1/plans?tag=slurm"
  fi
  pause=1
  case $status in
    200 | 201 | 202)
      [ -n "$job" ] || job=$(header location)
      case $(field state) in
        succeeded)
          mv "$work/body" "$plan"
          echo "interlace: $url$job is in $plan" >&2
          exit 0
          ;;
        queued | running) [ "$(patience)" -gt 1 ] && continue ;;
        *) without "$url$job is $(field state)" ;;
      esac
      ;;
    000 | 408 | 429 | 502 | 503 | 504)
      [ -z "$(header location)" ] || without "$(field detail)" # the work itself failed
      pause=$(header retry-after)
      case $pause in '' | *[!0-9]*) pause=2 ;; esac
      echo "interlace: $url: status $status, again in $pause s" >&2
      ;;
    *) without "$(field detail) (status $status)" ;;
  esac
  [ "$pause" -lt "$(left)" ] || break
  sleep "$pause"
done
if [ -n "$job" ]; then
  without "$url$job is not done after $allowed s; it goes on"
fi
without "no answer within $allowed s from $url"
