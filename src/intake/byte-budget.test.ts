import { expect, test } from 'vitest'
import { ByteBudget } from './byte-budget.ts'

test('requests together hold no more than the budget, and what one releases another may hold', () => {
  const budget = new ByteBudget(100)
  const first = budget.share()
  const second = budget.share()
  first.add(60)
  second.add(40)
  expect(() => second.add(1)).toThrow(
    expect.objectContaining({ code: 'rate_limited', status: 429, retryAfterSeconds: 1 }),
  )
  expect(budget.heldBytes).toBe(100)
  first.release()
  first.release()
  second.add(60)
  second.release()
  expect(budget.heldBytes).toBe(0)
})

test('a request that is alone may be larger than the budget, and keeps others out', () => {
  const budget = new ByteBudget(100)
  const large = budget.share()
  large.add(90)
  large.add(90)
  const small = budget.share()
  expect(() => small.add(1)).toThrow()
  large.release()
  small.add(1)
})
