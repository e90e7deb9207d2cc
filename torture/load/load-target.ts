import { readFileSync } from 'node:fs'
import { isAlive } from '../../test/support/service-process.ts'
import type { TortureRun } from '../support/scenario.ts'
import { openTarget, type Target } from '../support/target.ts'

/** The Logflare gateway has it, for the scenario that sends BigQuery SQL. */
export const logflareToken = 'a-token-of-logflare'

/** The service that the scenarios of load and hostile clients share in their short forms. */
export function loadTarget(run: TortureRun): Promise<Target> {
  // Statistics cost more time than the requests, which the short form cannot spare.
  const statistics = run.size(1, 0) === 1 ? 'on' : 'off'
  return run.share('load', (directory) =>
    openTarget(directory, {
      WELLHEAD_STATISTICS: statistics,
      WELLHEAD_LOG_LEVEL: 'error',
      LOGFLARE_PRIVATE_ACCESS_TOKEN: logflareToken,
    }),
  )
}

export async function engineRestarts(target: Target): Promise<number> {
  const { engine } = await target.json<{ engine: { restarts: number } }>('/api/status')
  return engine.restarts
}

/** Memory of the service without its engine. */
export function residentMiB(target: { pid: number }): number {
  const status = readFileSync(`/proc/${target.pid}/status`, 'utf8')
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024)
}

/** Polls a condition; returns false if it does not hold in time. */
export async function becomesTrue(
  holds: () => boolean | Promise<boolean>,
  withinMs: number,
  everyMs = 50,
): Promise<boolean> {
  const until = performance.now() + withinMs
  for (;;) {
    if (await holds()) return true
    if (performance.now() > until) return false
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
}

export function isRunning(target: Target): boolean {
  return isAlive(target.pid)
}

export function median(values: readonly number[]): number {
  return percentile(values, 50)
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? 0
}
