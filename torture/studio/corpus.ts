import type { Dice } from '../fuzz/dice.ts'
import type { Entry } from './entries.ts'
import { otelQuestion } from './otel.ts'
import { brokenSearch, pageQuestion } from './pages.ts'
import type { Question } from './question.ts'
import { reportQuestion } from './reports.ts'

/** One query of the kinds that Studio's pages generate, with the rows that the entries give. */
export function studioQuestion(dice: Dice, entries: readonly Entry[], project: string): Question {
  const everything = { iso_timestamp_start: '', iso_timestamp_end: '' }
  // The engine reads a pattern only if there is a row to match.
  if (dice.percent(4)) return { ...brokenSearch(dice), endpoint: 'logs.all', window: everything }
  const momentMs = () => Math.floor(dice.pick(entries).micros / 1000)
  const [startMs, endMs] = [
    dice.percent(30) ? momentMs() : undefined,
    dice.percent(20) ? momentMs() : undefined,
  ]
  // The start is exclusive and the end inclusive.
  const visible = entries.filter(
    ({ micros }) =>
      (startMs === undefined || micros > startMs * 1000) && (endMs === undefined || micros <= endMs * 1000),
  )
  const iso = (ms: number | undefined) => (ms === undefined ? '' : new Date(ms).toISOString())
  const window = { iso_timestamp_start: iso(startMs), iso_timestamp_end: iso(endMs) }
  if (dice.percent(12)) return { ...otelQuestion(dice, visible, project), endpoint: 'logs.all.otel', window }
  const asked = dice.percent(60) ? pageQuestion(dice, visible) : reportQuestion(dice, visible, project)
  return { ...asked, endpoint: 'logs.all', window }
}
