import type { AlertEntry, Notification } from './alert-state.ts'

/** Lengths are characters of all bodies. */
const limits = {
  /** Notifications of one alert. */
  count: 100,
  length: 2 ** 20,
  /** Of all alerts. */
  total: 64 * 2 ** 20,
}

interface Dropped extends AlertEntry {
  notification: Notification
}

/** Drops the oldest notifications of alerts with too many. Beyond the total, those of the alert with the most are dropped. */
export function dropExcess(entries: Iterable<AlertEntry>, { count, length, total } = limits): Dropped[] {
  const dropped: Dropped[] = []
  const lengths = new Map<AlertEntry, number>()
  const drop = (entry: AlertEntry) => {
    // The next one must not overtake one that is being sent.
    const oldest = Math.max(0, entry.state.outbox.findIndex(isAtRest))
    const [notification] = entry.state.outbox.splice(oldest, 1) as [Notification]
    entry.state.dropped++
    lengths.set(entry, (lengths.get(entry) ?? 0) - lengthOf(notification))
    dropped.push({ ...entry, notification })
  }
  for (const entry of entries) {
    const { outbox } = entry.state
    if (outbox.length === 0) continue
    lengths.set(entry, sum(outbox.map(lengthOf)))
    // One that is too large by itself is kept.
    while (outbox.length > count || (outbox.length > 1 && (lengths.get(entry) ?? 0) > length)) drop(entry)
  }
  while (sum([...lengths.values()]) > total) {
    drop([...lengths].reduce((one, other) => (other[1] > one[1] ? other : one))[0])
  }
  return dropped
}

function isAtRest({ to }: Notification): boolean {
  return [...to.values()].every(({ nextMs }) => nextMs < Infinity)
}

function lengthOf({ bodies: { webhook = '', slack = '' } }: Notification): number {
  return webhook.length + slack.length
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((one, other) => one + other, 0)
}
