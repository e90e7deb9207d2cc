export interface StreamEvent {
  /** Empty for an event without a type. */
  event: string
  id: string | undefined
  data: string
  retryMs: number | undefined
}

/**
 * Reads server-sent events from pieces of a stream. Unlike common parsers it also returns events without data, whose ids the
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
