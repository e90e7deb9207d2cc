export interface StreamEvent {
  event: string
  id: string | undefined
  data: string
}

/** The service says something every 15 s; one that says nothing for so long is gone. */
const silenceMs = 45_000

/** Server-sent events as they come, all that came together at once. Ends with the stream, and throws where it breaks. */
export async function* readStream(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent[]> {
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await notSilent(reader.read())
      if (done) return
      const parts = (rest + value).split('\n\n')
      rest = parts.pop() ?? ''
      yield parts.map(eventOf)
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

function eventOf(text: string): StreamEvent {
  const field = (name: string) =>
    text
      .split('\n')
      .filter((line) => line.startsWith(`${name}:`))
      .map((line) => line.slice(name.length + 1).replace(/^ /, ''))
  return { event: field('event').at(-1) ?? 'message', id: field('id').at(-1), data: field('data').join('\n') }
}

async function notSilent<T>(next: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const silence = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('The service has fallen silent.')), silenceMs)
  })
  try {
    return await Promise.race([next, silence])
  } finally {
    clearTimeout(timer)
  }
}
