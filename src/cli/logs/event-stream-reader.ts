export interface StreamEvent {
  /** Empty for an event without a type. */
  event: string
  id: string | undefined
  data: string
  retryMs: number | undefined
}

/** Larger than any event: an entry has at most 1 MiB. */
const maxEventLength = 8 * 2 ** 20

/**
 * Reads server-sent events. Unlike common parsers it also returns events without data, whose ids the service
 * sends as heartbeats: they are the position to resume from. Skips comments and an incomplete last event.
 */
export async function* readEventStream(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true }).replaceAll('\r', '')
    const blocks = text.split('\n\n')
    text = blocks.pop() as string
    for (const block of blocks) yield readEvent(block)
    if (text.length > maxEventLength) throw new Error('The service sent an event without an end.')
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
