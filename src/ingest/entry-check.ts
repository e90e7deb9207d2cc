export const checkLimits = { maxDepth: 64, maxFields: 5_000 } as const

/** Why an entry is not stored. */
export class Rejection extends Error {}

interface Seen {
  fields: number
}

/** Everything that the engine would refuse, or would not give back as it was sent. */
export function checkEntry(entry: object): void {
  checkInside(entry, 0, { fields: 0 })
}

// Loops over indices and over keys in place: each entry passes here, and lists of its values would cost more than
// the checks.
function checkInside(value: object, depth: number, seen: Seen): void {
  if (depth > checkLimits.maxDepth)
    throw new Rejection(`it is nested deeper than ${checkLimits.maxDepth} levels`)
  if (Array.isArray(value)) {
    count(value.length, seen)
    for (let i = 0; i < value.length; i++) checkMember(value[i], depth, seen)
    return
  }
  for (const key in value) {
    count(1, seen)
    checkText(key)
    // The engine keeps a dot inside of a key as these characters.
    if (key.includes('%') && /%2e/i.test(key)) throw new Rejection('a key contains "%2E"')
    checkMember((value as Record<string, unknown>)[key], depth, seen)
  }
}

function checkMember(member: unknown, depth: number, seen: Seen): void {
  if (typeof member === 'string') checkText(member)
  else if (typeof member === 'number') {
    if (!Number.isFinite(member)) throw new Rejection('a number is outside of what 64 bits can hold')
  } else if (typeof member === 'object' && member !== null) checkInside(member, depth + 1, seen)
}

function count(fields: number, seen: Seen): void {
  seen.fields += fields
  if (seen.fields > checkLimits.maxFields)
    throw new Rejection(`it has more than ${checkLimits.maxFields} values`)
}

function checkText(text: string): void {
  if (!text.isWellFormed()) throw new Rejection('a text has half of a surrogate pair')
}
