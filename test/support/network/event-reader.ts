export interface ServerEvent {
  event: string
  id: string | undefined
  data: string
}

export interface EventReader {
  status: number
  headers: Headers
  /** The next event, or undefined if the stream has ended. */
  next(): Promise<ServerEvent | undefined>
  /** Comments, and ids without an event. */
  marks: string[]
  close(): void
}

/** Reads an event stream. Other responses only have a status. */
export async function openEvents(
  url: string,
  token: string,
  headers: Record<string, string> = {},
): Promise<EventReader> {
  const gone = new AbortController()
  const response = await fetch(url, {
    headers: { 'X-API-KEY': token, Accept: 'text/event-stream', ...headers },
    signal: gone.signal,
  })
  const { status } = response
  const marks: string[] = []
  if (status !== 200) await response.body?.cancel()
  const events = status === 200 ? readEvents(response, marks) : undefined
  return {
    status,
    headers: response.headers,
    marks,
    next: async () => (await events?.next())?.value ?? undefined,
    close: () => gone.abort(),
  }
}

async function* readEvents(response: Response, marks: string[]): AsyncGenerator<ServerEvent> {
  let text = ''
  for await (const chunk of (response.body as ReadableStream<Uint8Array>).pipeThrough(
    new TextDecoderStream(),
  )) {
    text += chunk
    const blocks = text.split('\n\n')
    text = blocks.pop() as string
    for (const block of blocks) {
      const lines = block
        .split('\n')
        .map((line) => /^([^:]*):? ?(.*)$/s.exec(line)?.slice(1) as [string, string])
      const values = (name: string) => lines.filter(([field]) => field === name).map(([, value]) => value)
      const [event] = values('event')
      if (event === undefined) marks.push(block)
      else yield { event, id: values('id')[0], data: values('data').join('\n') }
    }
  }
}
