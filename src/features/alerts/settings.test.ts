import { expect, test } from 'vitest'
import { settingsReader, settingsWith } from '../../../test/support/settings.ts'
import { alerts } from './index.ts'
import { mailServerOf } from './mail-server.ts'

const { problemsOf } = settingsReader(await settingsWith(alerts))

test.each([
  [
    'smtps://mail.example.com',
    { host: 'mail.example.com', tls: 'implicit', port: undefined, auth: undefined },
  ],
  ['smtps://a:b@[::1]:1465/', { host: '::1', tls: 'implicit', port: 1465, auth: { user: 'a', pass: 'b' } }],
  [
    'smtp://a%40b:%C3%A4%2F@h:25',
    { host: 'h', tls: 'required', port: 25, auth: { user: 'a@b', pass: 'ä/' } },
  ],
  ['smtp://mailpit:1025?tls=off', { host: 'mailpit', tls: 'off', port: 1025, auth: undefined }],
])('reads the mail server %s', (WELLHEAD_SMTP_URL, expected) => {
  expect(mailServerOf(WELLHEAD_SMTP_URL)).toEqual(expected)
  for (const WELLHEAD_SMTP_FROM of ['alerts@example.com', 'Wellhead Älerts <alerts@example.com>']) {
    expect(problemsOf({ WELLHEAD_SMTP_URL, WELLHEAD_SMTP_FROM })).toEqual([])
  }
  expect(problemsOf({ WELLHEAD_SMTP_URL })).toEqual(['WELLHEAD_SMTP_URL needs WELLHEAD_SMTP_FROM.'])
})

test.each([
  ...['mail.example.com', 'https://h', 'smtp:h', 'smtp://', 'smtp://h/path', 'smtp://h#f', 'smtp://a;b'],
  ...['smtp://hush@h', 'smtp://:hush@h', 'smtp://a:%zz@h', 'smtp://a:hush@h?tls=off', 'smtps://h?tls=off'],
  ...['smtp://h?tls=none', 'smtp://h:99999'],
])('refuses the mail server %j without showing it', (WELLHEAD_SMTP_URL) => {
  const problems = problemsOf({ WELLHEAD_SMTP_URL, WELLHEAD_SMTP_FROM: 'a@b.example' })
  expect(problems).toEqual([expect.stringMatching(/^WELLHEAD_SMTP_URL must be [^"]+ without a password\.$/)])
})

test.each(['alerts', 'a@b.example\nBcc: c@d.example', 'A\n<a@b.example>', 'a@b.example, c@d.example', '<>'])(
  'refuses the sender %j',
  (WELLHEAD_SMTP_FROM) => {
    expect(problemsOf({ WELLHEAD_SMTP_URL: 'smtps://h', WELLHEAD_SMTP_FROM })).toHaveLength(1)
  },
)
