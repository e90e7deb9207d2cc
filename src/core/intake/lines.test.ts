import { expect, test } from 'vitest'
import { Lines } from './lines.ts'

const line = (id: string, time: string) =>
  Buffer.from(
    `{"project":"p","id":${JSON.stringify(id)},"timestamp":"${time}","event_message":"","metadata":{}}\n`,
  )

test('counts lines by day, regardless of texts in their ids', () => {
  const lines = Lines.from([
    line('a', '1769817600.000000'),
    line('","timestamp":"1', '1769903999.999999'),
    line('b', '1769904000.000000'),
  ])
  expect(lines.days()).toBe(2)
  expect(Lines.from([]).days()).toBe(0)
})
