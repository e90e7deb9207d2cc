import { expect, test } from 'vitest'
import { embedAddress } from './embed-address.ts'

test('separates parameters of the endpoint from those of the page', () => {
  expect(
    embedAddress('/embed/a%2Fb', '?interval=1hr&x=&_version=2&_theme=dark&_view=table&_title=0&_format=csv'),
  ).toEqual({
    name: 'a/b',
    values: { interval: '1hr', x: '', _version: '2' },
    theme: 'dark',
    view: 'table',
    hasTitle: false,
  })
})

test('ignores values that it does not know', () => {
  expect(embedAddress('/embed/%E0%A4%A', '?_theme=pink&_view=')).toEqual({
    name: '%E0%A4%A',
    values: {},
    theme: undefined,
    view: undefined,
    hasTitle: true,
  })
})
