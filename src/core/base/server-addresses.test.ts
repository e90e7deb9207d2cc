import { expect, test } from 'vitest'
import { serverAddresses } from './server-addresses.ts'

const read = (text: string) =>
  serverAddresses(text).map(({ url, user, password }) => `${user}:${password} ${url.href}`)

test.each([
  ['http://a:8123', ['default: http://a:8123/']],
  [' http://a:8123 ,\thttps://b:8443/ ', ['default: http://a:8123/', 'default: https://b:8443/']],
  ['http://u:p@a, http://b', ['u:p http://a/', 'u:p http://b/']],
  ['http://u:p@a,http://v:q@b,http://c', ['u:p http://a/', 'v:q http://b/', 'u:p http://c/']],
  ['http://u:a%2Cb%40c%C3%BC@a', ['u:a,b@cü http://a/']],
  ['http://a:8123,http://A:8123/,http://u:p@a:8123', ['default: http://a:8123/']],
  ['http://a/one/,http://a/two', ['default: http://a/one', 'default: http://a/two']],
  ['http://[::1]:8123,https://[::1]:8123', ['default: http://[::1]:8123/', 'default: https://[::1]:8123/']],
])('reads %j', (text, expected) => {
  expect(read(text)).toEqual(expected)
})

test('overrides the user and the password of every address', () => {
  const addresses = serverAddresses('http://u:p@a,http://v:q@b', { user: 'w' })
  expect(addresses.map(({ user, password }) => `${user}:${password}`)).toEqual(['w:p', 'w:q'])
})

test.each([
  '',
  ',',
  'http://a,',
  'http://a,,http://b',
  'http://a b',
  'http://a;http://b',
  'http://u:one,two@a',
  'http://u:100%@a',
  'http://a,tcp://b:9000',
  'a:8123',
])('rejects %j', (text) => {
  expect(() => serverAddresses(text)).toThrow()
})
