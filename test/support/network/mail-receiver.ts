import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { vi } from 'vitest'

export interface ReceivedMail {
  from: string
  to: string
  /** By lowercase names, in the order of the message. */
  headers: [string, string][]
  /** Decoded. */
  text: string
}

export type MailReceiver = Awaited<ReturnType<typeof openMailReceiver>>

/** A mail server. How it answers depends on the recipient. */
export async function openMailReceiver(options: SMTPServerOptions = {}) {
  const received: ReceivedMail[] = []
  const answers = new Map<string, number | undefined>()
  const server = new SMTPServer({
    ...{ authOptional: true, logger: false, closeTimeout: 1, disableReverseLookup: true },
    onData: (stream, { envelope }, callback) => {
      let raw = ''
      stream.on('data', (chunk: Buffer) => {
        raw += chunk.toString('latin1')
      })
      stream.on('end', () => {
        const to = envelope.rcptTo[0]?.address ?? ''
        received.push({ ...mailOf(raw), from: envelope.mailFrom ? envelope.mailFrom.address : '', to })
        const code = answers.has(to) ? answers.get(to) : 250
        if (code !== undefined)
          callback(code === 250 ? null : Object.assign(refusal(to), { responseCode: code }))
      })
    },
    ...options,
  })
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const at = (to: string) => received.filter((each) => each.to === to)
  return {
    host: `127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    received,
    at,
    /** Undefined: no response. */
    answer: (to: string, code: number | undefined) => void answers.set(to, code),
    until: (to: string, count: number) =>
      vi.waitFor(() => {
        if (at(to).length < count) throw new Error(`${to} received ${at(to).length} of ${count} messages.`)
        return at(to)
      }),
    close: () => new Promise<void>((resolve) => server.close(resolve)),
  }
}

const refusal = (to: string) => new Error(`not for ${to}`)

function mailOf(raw: string): Pick<ReceivedMail, 'headers' | 'text'> {
  const [head = '', ...body] = raw.split('\r\n\r\n')
  const headers = head
    .replace(/\r\n[ \t]/g, ' ')
    .split('\r\n')
    .map((line): [string, string] => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    })
  const encoding = headers.find(([name]) => name === 'content-transfer-encoding')?.[1]
  const encoded = body.join('\r\n\r\n')
  const bytes =
    encoding === 'base64'
      ? Buffer.from(encoded, 'base64')
      : Buffer.from(
          encoding === 'quoted-printable'
            ? encoded
                .replace(/=\r\n/g, '')
                .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
            : encoded,
          'latin1',
        )
  return { headers, text: bytes.toString('utf8').replaceAll('\r\n', '\n') }
}
