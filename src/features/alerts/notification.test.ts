import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { manualTime } from '../../../test/support/manual-clock.ts'
import { readAlert } from './alert.ts'
import type { GroupState } from './alert-groups.ts'
import { newState } from './alert-state.ts'
import { type Message, slackBody } from './notification.ts'

function messageWith(text: string): Message {
  const definition = {
    ...{ name: 'errors', endpoint: 'latest', when: 'any(n) > 1', notify: [] },
    ...{ description: '`n` is too large', parameters: { project: text } },
  }
  const record = { id: 'a', version: 1, deleted: false, changed_at: '', changed_by: '' }
  const alert = readAlert({ ...record, body: { definition, created_at: '', note: '' } })
  const state = { ...newState('', 'errors', 0), error: text }
  return {
    type: 'alert.failing',
    alert,
    state,
    rows: [{ message: text }, { [text]: 1 }],
    time: manualTime(),
    publicUrl: undefined,
  }
}

/** What Slack shows outside of code: the rest of the text can have no effect. */
function outsideOfCode(text: string): string {
  return text.replace(/```[\s\S]*?```/g, '').replace(/`[^`\n]*`/g, '')
}

const expected = ':warning: *errors* cannot be evaluated\n, \n\n is too large\n'

describe('a message of Slack', () => {
  const hostileTexts = [
    ...['```', '``` *bold* <https://evil.example|here> ```', '`', '``', '`````', 'ends with `', '\\`'],
    ...[
      '<!channel>',
      '<!here|here>',
      '<@U012AB3CD>',
      '<https://evil.example|click>',
      'a & b &lt;!channel&gt;',
    ],
    ...['one\ntwo', 'one\r\n```\ntwo', '\u2028*bold*\u2029', '\u202e drawkcab', '> quote', '', '\ud83d'],
    ...['`'.repeat(50_000), '&'.repeat(50_000), '😀'.repeat(5_000)],
  ]
  test.each(hostileTexts.map((text) => [text.slice(0, 60), text] as const))(
    'shows %j as code',
    (_, hostile) => {
      const { text } = slackBody(messageWith(hostile))
      expect(outsideOfCode(text)).toBe(expected)
      expect(text.match(/```/g)).toHaveLength(2)
      expect(text).not.toMatch(/[<>\u2028\u2029\u202e]|&(?!amp;|lt;|gt;)/)
      // Slack cuts longer ones, and so the end of code.
      expect(text.length).toBeLessThan(40_000)
      expect(text.isWellFormed()).toBe(true)
    },
  )

  test('shows any text as code', () => {
    const texts = fc.string({
      unit: fc.constantFrom('`', '```', '<', '>', '&', '|', '!', '\n', '*', 'a', '\\'),
    })
    fc.assert(
      fc.property(fc.oneof(texts, fc.string({ unit: 'binary' })), (hostile) => {
        expect(outsideOfCode(slackBody(messageWith(hostile)).text)).toBe(expected)
      }),
    )
  })

  test.each(['&', 'a', '`'])(
    'has a line for each of forty groups, and for as many others as fit, of %s',
    (text) => {
      const groupWith = (n: number) => ({
        ...newState('', '', 0),
        ...{ id: `${n}`, key: { service: text.repeat(200), n }, missingMs: null, state: 'firing', value: n },
      })
      const message = (count: number) => ({
        ...messageWith('&'.repeat(50_000)),
        groups: Array.from({ length: count }, (_, n) => groupWith(n) as GroupState),
      })
      const linesOf = (count: number) =>
        slackBody(message(count))
          .text.split('\n')
          .filter((line) => line.startsWith(':red_circle:'))
      if (text !== '&') expect(linesOf(40)).toHaveLength(40)
      const { text: all } = slackBody(message(1000))
      expect(all.length).toBeLessThan(40_000)
      expect(all).toContain(`and ${1000 - linesOf(1000).length} more`)
    },
  )

  test('links to the alert if the address of the console is known', () => {
    const message = { ...messageWith('<https://evil.example|here>'), publicUrl: 'https://logs.example.com' }
    const link = '<https://logs.example.com/console/alerts/errors|Open the alert>'
    expect(outsideOfCode(slackBody(message).text)).toBe(`${expected}\n${link}`)
  })

  test('cannot be opened by a fence in the description', () => {
    const message = messageWith('*bold*')
    message.alert.definition.description = '``` never closed'
    expect(outsideOfCode(slackBody(message).text)).not.toContain('*bold*')
  })
})
