import fc from 'fast-check'
import { expect, test } from 'vitest'
import { reportedTexts } from './reported-texts.ts'

/** An editor, and its page: it renders its last text when it has time, and its effect follows even later. */
function slowPage() {
  const reported = reportedTexts()
  let [shown, known, last] = ['', '', '']
  let effect = () => {}
  const render = () => {
    effect()
    effect = () => {}
    if (known === last) return
    known = last
    const text = known
    effect = () => {
      effect = () => {}
      if (reported.isChange(text, shown)) shown = text
    }
  }
  return {
    shown: () => shown,
    type(text: string) {
      shown = text
      last = text
      reported.report(text, known)
    },
    change(text: string) {
      last = text
    },
    render,
    runEffect: () => effect(),
  }
}

test('keeps every typed letter, however late the page is', () => {
  const step = fc.constantFrom('a', 'b', 'Backspace', 'render', 'effect')
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const { type, render, runEffect, shown } = slowPage()
      let typed = ''
      for (const one of steps) {
        if (one === 'render') render()
        else if (one === 'effect') runEffect()
        else {
          typed = one === 'Backspace' ? typed.slice(0, -1) : typed + one
          type(typed)
        }
        expect(shown()).toBe(typed)
      }
    }),
    { examples: [[['a', 'render', 'Backspace', 'render', 'Backspace', 'a', 'render']]] },
  )
})

test('shows changes of the page, also one that it made before', () => {
  const { type, change, render, runEffect, shown } = slowPage()
  for (const _ of ['first', 'again']) {
    type('select')
    render()
    type('select 1')
    render()
    change('SELECT 1')
    render()
    runEffect()
    expect(shown()).toBe('SELECT 1')
  }
})
