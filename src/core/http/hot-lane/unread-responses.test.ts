import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { UnreadResponses } from './unread-responses.ts'

class Reader extends EventEmitter {
  destroyed = false
  destroy() {
    this.destroyed = true
    this.emit('close')
  }
}

const kib = (count: number) => Buffer.alloc(count * 1024)

function unread(maxKiB: number) {
  const givenUp: [number, number][] = []
  const answers = new UnreadResponses({
    maxBytes: maxKiB * 1024,
    onAborted: (readers, bytes) => givenUp.push([readers, bytes / 1024]),
  })
  const send = (body: Buffer | string) => {
    const reader = new Reader()
    answers.add(body, reader)
    return reader
  }
  return { answers, givenUp, send }
}

test('aborts the body that has waited longest beyond the limit', () => {
  const { answers, givenUp, send } = unread(300)
  const readers = [send(kib(100)), send(kib(100)), send(kib(100))]
  expect(givenUp).toEqual([])
  const last = send(kib(150))
  expect([...readers, last].map(({ destroyed }) => destroyed)).toEqual([true, true, false, false])
  expect(givenUp).toEqual([
    [1, 100],
    [1, 100],
  ])
  expect(answers.bytes).toBe(250 * 1024)
})

test('does not count bodies that were read', () => {
  const { answers, givenUp, send } = unread(300)
  for (let times = 0; times < 100; times++) send(kib(200)).emit('close')
  expect([answers.bytes, givenUp]).toEqual([0, []])
})

test('counts a body once for all its clients, and keeps it while some of them read', () => {
  const { answers, givenUp, send } = unread(300)
  const popular = kib(200)
  const readers = Array.from({ length: 50 }, () => send(popular))
  expect(answers.bytes).toBe(200 * 1024)
  const slow = send(kib(90))
  readers[0]?.emit('close')
  const large = send(kib(100))
  expect([slow.destroyed, large.destroyed, readers[1]?.destroyed]).toEqual([true, false, false])
  send(kib(290))
  expect(readers.slice(1).every(({ destroyed }) => destroyed)).toBe(true)
  expect(givenUp.at(0)).toEqual([1, 90])
  expect(givenUp.at(1)).toEqual([49, 200])
})

test('sends a body that is larger than the limit, and does not count small ones', () => {
  const { answers, givenUp, send } = unread(300)
  const small = Array.from({ length: 1000 }, () => send(kib(10)))
  const huge = send('x'.repeat(400 * 1024))
  expect([huge.destroyed, small.some(({ destroyed }) => destroyed), givenUp]).toEqual([false, false, []])
  expect(answers.bytes).toBe(400 * 1024)
})
