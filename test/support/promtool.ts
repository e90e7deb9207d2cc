import { spawnSync } from 'node:child_process'

/** What Prometheus' own check says to metrics: nothing, if they are as they should be. Undefined where it is not there. */
export function promtoolProblems(metrics: string): string | undefined {
  const { PROMTOOL: promtool } = process.env
  if (!promtool) return undefined
  const { stdout, stderr, status } = spawnSync(promtool, ['check', 'metrics'], {
    input: metrics,
    encoding: 'utf8',
  })
  return status === 0 ? stderr : `${stdout}${stderr}` || `promtool ended with ${status}`
}
