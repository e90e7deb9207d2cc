import { spawnSync } from 'node:child_process'

/** Output of `promtool check metrics`: empty if the metrics are valid, undefined if promtool is not installed. */
export function promtoolProblems(metrics: string): string | undefined {
  const { PROMTOOL: promtool } = process.env
  if (!promtool) return undefined
  const { stdout, stderr, status } = spawnSync(promtool, ['check', 'metrics'], {
    input: metrics,
    encoding: 'utf8',
  })
  return status === 0 ? stderr : `${stdout}${stderr}` || `promtool ended with ${status}`
}
