import { type Dice, nastyTexts, nastyValue } from './dice.ts'

/** A copy of a JSON value with one random change. */
export function mutatedValue(value: unknown, dice: Dice): unknown {
  if (dice.percent(15) || value === null || typeof value !== 'object') {
    if (typeof value === 'string' && dice.percent(60)) return mutatedText(value, dice)
    return nastyValue(dice)
  }
  if (Array.isArray(value)) return mutatedList(value, dice)
  const entries = Object.entries(value)
  const at = dice.below(entries.length + 1)
  const entry = entries[at]
  if (entry === undefined) entries.push([dice.pick(nastyTexts), nastyValue(dice)])
  else if (dice.percent(15)) entries.splice(at, 1)
  else if (dice.percent(10)) entries[at] = [dice.pick(nastyTexts), entry[1]]
  else entries[at] = [entry[0], mutatedValue(entry[1], dice)]
  return Object.fromEntries(entries)
}

function mutatedList(list: readonly unknown[], dice: Dice): unknown[] {
  const at = dice.below(list.length + 1)
  const changed = [...list]
  if (at === list.length) changed.push(list.length > 0 && dice.percent(50) ? list[0] : nastyValue(dice))
  else if (dice.percent(20)) changed.splice(at, 1)
  else changed[at] = mutatedValue(list[at], dice)
  return changed
}

/** Cuts, repeats, swaps or inserts. */
export function mutatedText(text: string, dice: Dice): string {
  const at = dice.below(text.length + 1)
  const length = 1 + dice.below(8)
  switch (dice.below(6)) {
    case 0:
      return text.slice(0, at)
    case 1:
      return text.slice(0, at) + text.slice(at + length)
    case 2:
      return text.slice(0, at) + dice.pick(nastyTexts) + text.slice(at)
    case 3:
      return text.slice(0, at) + text.slice(at, at + length).repeat(1 + dice.below(20)) + text.slice(at)
    case 4:
      return text.slice(at) + text.slice(0, at)
    default:
      return text.slice(0, at) + String.fromCharCode(dice.below(0x2100)) + text.slice(at + 1)
  }
}

export function mutatedBytes(bytes: Buffer, dice: Dice): Buffer {
  const changed = Buffer.from(bytes)
  for (let times = 1 + dice.below(4); times > 0; times--) {
    if (changed.length > 0) changed[dice.below(changed.length)] = dice.below(256)
  }
  return dice.percent(30) ? changed.subarray(0, dice.below(changed.length + 1)) : changed
}

/** Very deep JSON. */
export function nested(dice: Dice): string {
  const depth = 10 ** (1 + dice.below(4))
  return dice.percent(50)
    ? '['.repeat(depth) + ']'.repeat(depth)
    : `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
}
