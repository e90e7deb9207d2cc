import type { Log } from '../base/log.ts'

const everyMs = 60_000
const maxLength = 300

/** What goes wrong with traces, in few words and not often: a collector that is away fails every few seconds. */
export function exportWarnings(
  log: Pick<Log, 'warn'>,
  monotonicMs: () => number = () => performance.now(),
): (message: string) => void {
  let saidAtMs = Number.NEGATIVE_INFINITY
  let unsaid = 0
  return (message) => {
    const now = monotonicMs()
    if (now - saidAtMs < everyMs) {
      unsaid++
      return
    }
    log.warn({ reason: shortened(message), ...(unsaid > 0 && { unsaid }) }, 'traces')
    saidAtMs = now
    unsaid = 0
  }
}

/** Errors of exports come as JSON with their whole stack. */
function shortened(message: string): string {
  let text = message
  try {
    const { name, message: told, code } = JSON.parse(message)
    if (typeof told === 'string') text = [name, code, told].filter(Boolean).join(' ')
  } catch {
    // It is a text.
  }
  return (text.split('\n')[0] as string).slice(0, maxLength)
}
