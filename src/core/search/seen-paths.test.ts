import { expect, test } from 'vitest'
import { pathExamples as examplesOf } from './seen-paths.ts'

const pathExamples = (metadata: string[]) => examplesOf(metadata, { has: () => true })

const examples = (...metadata: unknown[]) =>
  Object.fromEntries(pathExamples(metadata.map((one) => JSON.stringify(one))))

test('lists up to three distinct values of each path, newest first', () => {
  const status = [200, 200, 404, 500, 503].map((code) => ({ response: { status: code } }))
  expect(examples(...status, { request: { method: 'GET' } })).toEqual({
    'response.status': ['200', '404', '500'],
    'request.method': ['GET'],
  })
})

test('shows lists as JSON, and skips empty values', () => {
  const lists = { tags: ['a', { b: 1 }], none: null, blank: '', nothing: {}, yes: true, half: 0.5 }
  expect(examples(lists)).toEqual({ tags: ['["a",{"b":1}]'], yes: ['true'], half: ['0.5'] })
})

test('cuts values to 100 characters, and compares them after that', () => {
  const long = '😀'.repeat(150)
  expect(examples({ a: `${long}1` }, { a: `${long}2` })).toEqual({ a: ['😀'.repeat(100)] })
})

test('keeps keys apart from properties of objects, and joins keys with dots, those in keys as %2E', () => {
  expect(examples({ constructor: 1, 'a.b': { toString: 2 } }, { 'a b': 3 })).toEqual({
    constructor: ['1'],
    'a%2Eb.toString': ['2'],
    'a b': ['3'],
  })
  expect([...pathExamples(['{"__proto__":{"x":1}}'])]).toEqual([['__proto__.x', ['1']]])
})

test('shows no integer that is not exact', () => {
  expect(pathExamples(['{"id":9007199254740993,"n":9007199254740991}'])).toEqual(
    new Map([['n', ['9007199254740991']]]),
  )
})

test('skips text that is not an object, and stops at a depth of 100', () => {
  const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
  expect([...pathExamples(['', '{', '[]', 'null', '"x"', deep(20_000)]).keys()]).toEqual([])
  expect([...pathExamples([deep(100)]).values()]).toEqual([['1']])
})

test('lists no values of other paths, and none of paths that are too long', () => {
  expect(examplesOf(['{"a":1,"b":{"c":2}}'], new Set(['b.c', 'd']))).toEqual(new Map([['b.c', ['2']]]))
  const long = 'k'.repeat(400)
  expect([...pathExamples([JSON.stringify({ [long]: { [long]: { a: 1 }, b: 2 } })]).keys()]).toEqual([
    `${long}.b`,
  ])
})
