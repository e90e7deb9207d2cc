import { createServer } from 'node:net'
import fc from 'fast-check'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { selfSigned, selfSignedHere } from '../../../test/support/network/certificates.ts'
import { openMailReceiver } from '../../../test/support/network/mail-receiver.ts'
import { type Mailer, mailerOf } from './mailer.ts'

const email = {
  id: 'msg_1',
  atMs: 0,
  to: 'ops@example.com',
  subject: 'errors is firing',
  text: 'one\n.\ntwo\n',
}
const password = 'p@ss wörd'
const credentials = `alerts:${encodeURIComponent(password)}@`

const send = (mailer: Mailer, fields = {}, signal = new AbortController().signal) =>
  mailer.send({ ...email, ...fields }, signal)
const mailer = (url: string) => mailerOf(url, 'Wellhead Älerts <alerts@example.com>') as Mailer

async function open(options: Parameters<typeof openMailReceiver>[0] = {}) {
  const receiver = await openMailReceiver(options)
  onTestFinished(() => receiver.close())
  return receiver
}

/** Accepts any certificate in this test. */
function trustAll() {
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
}
afterEach(() => {
  delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
})

describe('a mail server', () => {
  test('receives a message that mailboxes recognize again', async () => {
    const { host, received } = await open()
    const plain = mailer(`smtp://${host}?tls=off`)
    expect(await send(plain)).toEqual({ status: 250, text: expect.stringContaining('250') })
    await send(plain)
    expect(received).toHaveLength(2)
    expect(received[0]).toEqual(received[1])
    expect(received[0]).toMatchObject({ from: 'alerts@example.com', to: email.to, text: email.text })
    expect(Object.fromEntries(received[0]?.headers ?? [])).toMatchObject({
      ...{ subject: email.subject, 'message-id': '<msg_1@example.com>', 'auto-submitted': 'auto-generated' },
      ...{ from: '=?UTF-8?Q?Wellhead_=C3=84lerts?= <alerts@example.com>', to: email.to },
    })
  })

  test('gets no other headers whatever the texts are', async () => {
    const { host, received } = await open()
    const plain = mailer(`smtp://${host}?tls=off`)
    await send(plain)
    const known = received[0]?.headers.map(([name]) => name)
    const hostile = [
      'a\r\nBcc: x@evil.example',
      'a\n\nbody',
      '\u2028',
      'ünï 😀',
      '\ud83d',
      `${'x'.repeat(2000)}\r\n.\r\nQUIT`,
    ]
    const texts = fc.oneof(fc.constantFrom(...hostile), fc.string({ unit: 'binary' }))
    await fc.assert(
      fc.asyncProperty(texts, texts, async (subject, text) => {
        await send(plain, { subject, text })
        const names = received.at(-1)?.headers.map(([name]) => name)
        expect(names).toHaveLength(new Set(names).size)
        expect(known).toEqual(expect.arrayContaining(names ?? []))
      }),
      { numRuns: 10, examples: hostile.map((text) => [text, text]) },
    )
  })

  test.each([
    ['smtps', { secure: true }],
    ['smtp', {}],
  ])(
    'with a certificate of somebody else gets neither password nor message over %s',
    async (scheme, options) => {
      const { host, received } = await open({
        ...options,
        ...selfSigned,
        onAuth: () => received.push({} as never),
      })
      await expect(send(mailer(`${scheme}://${credentials}${host}`))).rejects.toThrow(
        /^The mail server cannot be used: .*self-signed certificate/,
      )
      expect(received).toEqual([])
    },
  )

  test('without STARTTLS gets neither password nor message', async () => {
    const { host, received } = await open({ disabledCommands: ['STARTTLS'] })
    await expect(send(mailer(`smtp://${credentials}${host}`))).rejects.toThrow('STARTTLS')
    expect(received).toEqual([])
  })

  test.each(['smtps', 'smtp'])('gets user and password over %s, and errors have neither', async (scheme) => {
    trustAll()
    let isKnown = false
    const { host, received } = await open({
      ...{
        secure: scheme === 'smtps',
        ...selfSignedHere,
        authOptional: false,
        authMethods: ['PLAIN', 'LOGIN'],
      },
      onAuth: ({ username, password: sent }, _session, callback) => {
        if (isKnown && username === 'alerts' && sent === password) callback(null, { user: 1 })
        else callback(Object.assign(new Error(`no ${sent}`), { responseCode: 535 }))
      },
    })
    const secure = mailer(`${scheme}://${credentials}${host}`)
    const refused = await send(secure).catch((error: Error) => error)
    expect(refused).toEqual(new Error('The mail server refused the user or password with 535.'))
    isKnown = true
    expect(await send(secure)).toMatchObject({ status: 250 })
    expect(received).toHaveLength(1)
  })

  test('that refuses a recipient or a message says so with its reply', async () => {
    const { host, answer } = await open({
      onRcptTo: ({ address }, _session, callback) =>
        callback(
          address.startsWith('no') ? Object.assign(new Error('unknown'), { responseCode: 550 }) : null,
        ),
    })
    const plain = mailer(`smtp://${host}?tls=off`)
    expect(await send(plain, { to: 'nobody@example.com' })).toEqual({ status: 550, text: '550 unknown' })
    answer('late@example.com', 451)
    expect(await send(plain, { to: 'late@example.com' })).toEqual({
      status: 451,
      text: '451 not for late@example.com',
    })
  })

  test.each([
    ['refuses everybody', '554 no\r\n', /^The mail server cannot be used: .*554 no/],
    ['speaks another protocol', 'HTTP/1.1 400 Bad Request\r\n\r\n', /^The mail server cannot be used: /],
    ['ends the connection', undefined, /^The mail server /],
  ])('that %s causes an error', async (_, greeting, expected) => {
    const server = createServer((socket) => socket.on('error', () => undefined).end(greeting ?? ''))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as { port: number }
    await expect(send(mailer(`smtp://127.0.0.1:${port}?tls=off`))).rejects.toThrow(expected)
  })

  test('that never responds is left when the signal aborts, also before it is connected', async () => {
    const { host, answer, until } = await open()
    answer(email.to, undefined)
    const stop = new AbortController()
    const sent = send(mailer(`smtp://${host}?tls=off`), {}, stop.signal).catch(
      (error: Error) => error.message,
    )
    await until(email.to, 1)
    stop.abort()
    expect(await sent).toMatch(/closed/)
    await expect(send(mailer(`smtp://${host}?tls=off`), {}, stop.signal)).rejects.toThrow('aborted')
  })
})
