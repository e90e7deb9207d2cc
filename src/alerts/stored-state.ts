import { type Target, targetKey } from './alert.ts'
import type { AlertState, Notification } from './alert-state.ts'

/** A notification of versions that stored outboxes in the rows of states: one for each target. */
interface EarlierNotification extends Pick<Notification, 'id' | 'type' | 'createdMs'> {
  target: Target
  body: string
  attempts: number
  nextMs: number
}

interface StoredState extends Omit<AlertState, 'outbox' | 'dropped'> {
  dropped?: number
  /** The notifications that wait, oldest first. What they contain is in rows of their own, which never change. */
  waiting?: { id: string; to: string[] }[]
  /** Empty, unless an earlier version wrote it. Such a version may run beside this one during an upgrade. */
  outbox: EarlierNotification[]
}

type Content = Pick<Notification, 'type' | 'createdMs' | 'bodies'>

/** The row of a state. It is empty for a deleted alert that has nothing to deliver. */
export function stateBody({ outbox, ...state }: AlertState): string {
  if (state.deleted && outbox.length === 0) return ''
  const waiting = outbox.map(({ id, to }) => ({ id, to: [...to.keys()] }))
  return JSON.stringify({ ...state, waiting, outbox: [] } satisfies StoredState)
}

export function notificationBody({ type, createdMs, bodies }: Notification): string {
  return JSON.stringify({ type, createdMs, bodies } satisfies Content)
}

/** Without the rows of its notifications, the state has an empty outbox. */
export function readState(body: string, contents?: ReadonlyMap<string, string>): AlertState {
  const { waiting = [], outbox: earlier, dropped = 0, off, ...state } = JSON.parse(body) as StoredState
  const found = contents ? waiting.filter(({ id }) => contents.has(id)) : []
  const outbox = found.map(({ id, to }) => {
    const content = JSON.parse(contents?.get(id) as string) as Content
    return { id, ...content, to: new Map(to.map((key) => [key, { count: 0, nextMs: 0 }])) }
  })
  return {
    ...state,
    off: off.map(currentKey),
    // An earlier version that runs beside this one added its own later.
    outbox: contents ? [...outbox, ...readEarlier(earlier)] : [],
    dropped: dropped + (contents ? waiting.length - found.length : 0),
  }
}

function readEarlier(earlier: readonly EarlierNotification[]): Notification[] {
  const read = new Map<string, Notification>()
  for (const { id, type, createdMs, target, body, attempts: count, nextMs } of earlier) {
    const same: Notification = read.get(id) ?? { id, type, createdMs, bodies: {}, to: new Map() }
    same.bodies[target.type] = body
    same.to.set(targetKey(target), { count, nextMs })
    read.set(id, same)
  }
  return [...read.values()]
}

/** Earlier versions stored type and URL of a target. */
function currentKey(key: string): string {
  const [type, url] = key.split(' ')
  return url === undefined ? key : targetKey({ type, url } as Target)
}
