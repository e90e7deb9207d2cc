import { keysOf } from './path-text.ts'

const owner = 'project|customer|tenant|org(?:anization|anisation)?|account|workspace|team|company|shop|client'
const name = new RegExp(`(?:^|[._])(?:${owner})(?:[._-]?(?:id|ref|slug))?$`, 'i')

/** Whether the name of a path says that its values identify whom an entry belongs to. */
export function isOwnerPath(path: string): boolean {
  return name.test(
    keysOf(path)
      .join('.')
      .replace(/([a-z])([A-Z])/g, '$1_$2'),
  )
}
