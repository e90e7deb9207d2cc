import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Lookup, postJson, resolveTarget } from './target.ts'

const resolving =
  (...addresses: string[]): Lookup =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))

const rules = (...addresses: string[]) => ({ allowedHosts: [], lookup: resolving(...addresses) })

describe('addresses', () => {
  test.each([
    ...[
      '0.0.0.0',
      '10.1.2.3',
      '100.64.0.1',
      '127.0.0.1',
      '127.255.0.1',
      '169.254.169.254',
      '172.31.0.1',
      '192.168.1.1',
    ],
    ...[
      '198.18.0.1',
      '203.0.113.9',
      '224.0.0.1',
      '255.255.255.255',
      '::',
      '::1',
      '::ffff:127.0.0.1',
      '::ffff:8.8.8.8',
    ],
    ...[
      '::127.0.0.1',
      '64:ff9b::7f00:1',
      'fc00::1',
      'fe80::1',
      'ff02::1',
      '2001:db8::1',
      '2001::1',
      '2002:7f00:1::',
    ],
    ...['168.63.129.16', '::7f00:1', '::2', '1::1', '4000::1'],
  ])('%s is not public', async (address) => {
    await expect(resolveTarget('http://a.example', rules(address))).rejects.toThrow('not public')
  })

  test.each(['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00:1450::1'])(
    '%s is public',
    async (address) => {
      expect(await resolveTarget('http://a.example', rules(address))).toMatchObject({
        addresses: [{ address }],
      })
    },
  )

  test.each([
    ...[
      'http://2130706433/',
      'http://0x7f.1/',
      'http://017700000001/',
      'http://127.1/',
      'http://0/',
      'http://[::]/',
    ],
    ...[
      'http://[::127.0.0.1]/',
      'http://[::ffff:7f00:1]/',
      'http://[0:0:0:0:0:ffff:127.0.0.1]/',
      'http://①②⑦.0.0.1/',
    ],
  ])('%s is refused, however it is written', async (url) => {
    await expect(resolveTarget(url, { allowedHosts: [] })).rejects.toThrow('not public')
  })

  test('a URL with credentials is refused', async () => {
    for (const url of ['https://user:secret@example.com/', 'https://user@example.com/']) {
      await expect(resolveTarget(url, rules('8.8.8.8'))).rejects.toThrow('user name or password')
    }
  })

  test('a name is refused if any of its addresses is not public', async () => {
    const url = 'https://example.com/'
    await expect(resolveTarget(url, rules('8.8.8.8', '10.0.0.1'))).rejects.toThrow('not public')
    expect(await resolveTarget(url, rules('8.8.8.8'))).toMatchObject({
      addresses: [{ address: '8.8.8.8', family: 4 }],
    })
    await expect(resolveTarget(url, rules())).rejects.toThrow('cannot be resolved')
  })

  test.each([
    ['http://hooks.internal/', 'hooks.internal', true],
    ['http://hooks.internal:81/', 'hooks.internal:81', true],
    ['http://hooks.internal/', 'hooks.internal:81', false],
    ['https://hooks.internal/', 'hooks.internal:443', true],
    ['http://a.example.com/', '*.example.com', true],
    ['http://example.com/', '*.example.com', false],
    ['http://badexample.com/', '*.example.com', false],
    ['http://[::1]:80/', '[::1]', true],
  ])('%s with %s in the list: %s', async (url, entry, isAllowed) => {
    const addresses = resolveTarget(url, { allowedHosts: [entry], lookup: resolving('10.0.0.1') })
    if (isAllowed) expect(await addresses).toHaveProperty('addresses')
    else await expect(addresses).rejects.toThrow('not public')
  })
})

describe('a request', () => {
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.headers.host} ${request.url}`)
    if (request.url === '/slow') return
    response.writeHead(request.url === '/moved' ? 302 : 200, { Location: '/elsewhere' }).end('x'.repeat(5000))
  })
  let port: number
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    port = (server.address() as AddressInfo).port
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  const post = (url: string, lookup: Lookup, allowed: string[] = ['rebound.example'], timeoutMs = 5_000) =>
    postJson(url, {}, '{}', { allowedHosts: allowed, lookup, signal: AbortSignal.timeout(timeoutMs) })

  test('goes to the address that was checked, although the name has another one by then', async () => {
    const answers = ['127.0.0.1', '10.9.9.9']
    const rebinding: Lookup = async () => [{ address: answers.shift() as string, family: 4 }]
    const { status, text } = await post(`http://rebound.example:${port}/hook`, rebinding)
    expect([status, text.length, answers]).toEqual([200, 1000, ['10.9.9.9']])
    expect(requests).toEqual([`POST rebound.example:${port} /hook`])
  })

  test('is not sent to an address that is not public', async () => {
    await expect(post(`http://rebound.example:${port}/`, resolving('127.0.0.1'), [])).rejects.toThrow(
      'not public',
    )
    expect(requests).toHaveLength(1)
  })

  test('does not follow redirects, and ends if there is no response in time', async () => {
    expect((await post(`http://rebound.example:${port}/moved`, resolving('127.0.0.1'))).status).toBe(302)
    const slow = post(`http://rebound.example:${port}/slow`, resolving('127.0.0.1'), undefined, 20)
    await expect(slow).rejects.toMatchObject({ name: expect.stringMatching(/TimeoutError|AbortError/) })
    expect(requests).not.toContain(`POST rebound.example:${port} /elsewhere`)
  })
})
