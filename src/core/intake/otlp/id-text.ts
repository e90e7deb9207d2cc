import { isUtf8 } from 'node:buffer'

export const idBytes = { traceId: 16, spanId: 8 } as const

/** Bytes of the protocol's own length that are text nevertheless. A random id is so once in four billion. */
const textOfUsualLength = { traceId: /^[\w-]*$/, spanId: /^[0-9a-f]*$/ } as const

/** An id in hex, unless its bytes are text: Logflare sends the ids of events as they are. */
export function idText(bytes: Buffer, name: keyof typeof idBytes): string {
  const text = isUtf8(bytes) ? bytes.toString() : ''
  const isText = bytes.length === idBytes[name] ? textOfUsualLength[name].test(text) : !/\p{Cc}/u.test(text)
  return isText && text !== '' ? text : bytes.toString('hex')
}
