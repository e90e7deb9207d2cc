export interface StreamEvent {
  /** Empty for a block that only says where to go on. */
  event: string
  id: string | undefined
  data: string
  retryMs: number | undefined
}

/** An event is at most an entry, which is at most 1 MiB; more than this is no stream of events. */
const maxBlockLength = 8 * 2 ** 20

/** The blocks of a stream of server-sent events. Comments are skipped, and what is cut off at the end is no event. */
export async function* readEventStream(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true }).replaceAll('\r', '')
    const blocks = text.split('\n\n')
    text = blocks.pop() as string
    for (const block of blocks) yield readBlock(block)
    if (text.length > maxBlockLength) throw new Error('An event of the stream has no end.')
  }
}

function readBlock(block: string): StreamEvent {
  const read: StreamEvent = { event: '', id: undefined, data: '', retryMs: undefined }
  const data: string[] = []
  for (const line of block.split('\n')) {
    const at = line.indexOf(':')
    const [field, value] = at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1).replace(/^ /, '')]
    if (field === 'event') read.event = value
    else if (field === 'id') read.id = value
    else if (field === 'data') data.push(value)
    else if (field === 'retry' && /^\d{1,6}$/.test(value)) read.retryMs = Number(value)
  }
  return { ...read, data: data.join('\n') }
}
