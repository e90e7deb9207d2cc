export interface StreamEvent {
  /** Empty for an event without a type. */
  event: string
  id: string | undefined
  data: string
  retryMs: number | undefined
}

/** The body of a response, as Node and browsers have it. */
interface Body {
  getReader(): {
    read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>
    cancel(): Promise<void>
  }
}

// What Node and browsers have, but no declaration in common.
declare function setTimeout(callback: () => void, ms: number): unknown
declare function clearTimeout(timer: unknown): void
declare const TextDecoder: new () => { decode(piece: Uint8Array, options: { stream: true }): string }

/** The service sends a heartbeat every 15 s. */
const maxSilenceMs = 45_000

/** The connection broke, or the service fell silent. */
export class BrokenStream extends Error {}

/**
 * The server-sent events of each piece of a stream, until it ends. Throws a `BrokenStream` if nothing comes for too long.
 * Time during which nobody asks for the next piece, as when a pager blocks the output, does not count.
 */
export async function* eventsOf(body: Body, maxLength?: number): AsyncGenerator<StreamEvent[]> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  const read = eventReader(maxLength)
  try {
    for (;;) {
      const { done, value } = await notSilent(reader.read())
      if (done || value === undefined) return
      const events = read(decoder.decode(value, { stream: true }))
      if (events.length > 0) yield events
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

function notSilent<T>(next: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const silent = () => reject(new BrokenStream('The service stopped sending heartbeats.'))
    const timer = setTimeout(silent, maxSilenceMs)
    next
      .then(resolve, (error) => reject(new BrokenStream((error as Error).message, { cause: error })))
      .finally(() => clearTimeout(timer))
  })
}

/**
 * Reads server-sent events from pieces of a text. Unlike common parsers it also returns events without data, whose ids the
 * service sends as heartbeats: they are the position to resume from. Skips an incomplete last event.
 */
export function eventReader(maxLength = Number.POSITIVE_INFINITY): (piece: string) => StreamEvent[] {
  let held = ''
  let endsLine = false
  return (piece) => {
    const text = piece.replaceAll('\r', '')
    const hasEnd = text.includes('\n\n') || (endsLine && text.startsWith('\n'))
    held += text
    endsLine = text === '' ? endsLine : text.endsWith('\n')
    // Splitting after each piece would take quadratic time for a large event.
    const blocks = hasEnd ? held.split('\n\n') : [held]
    held = blocks.pop() as string
    if (held.length > maxLength) throw new Error('The service sent an event without an end.')
    return blocks.map(readEvent)
  }
}

function readEvent(block: string): StreamEvent {
  const event: StreamEvent = { event: '', id: undefined, data: '', retryMs: undefined }
  const data: string[] = []
  for (const line of block.split('\n')) {
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (field === 'event') event.event = value
    else if (field === 'id') event.id = value
    else if (field === 'data') data.push(value)
    else if (field === 'retry' && /^\d{1,6}$/.test(value)) event.retryMs = Number(value)
  }
  return { ...event, data: data.join('\n') }
}
