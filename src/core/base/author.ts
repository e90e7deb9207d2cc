/** Who makes a change: the id of a token or person, and the request if there is one. */
export type Author = string | RequestAuthor

export interface RequestAuthor {
  id: string
  address: string
  requestId: string
  isAdmin: boolean
}

export function authorId(by: Author): string {
  return typeof by === 'string' ? by : by.id
}

/** Who made a change, with a name that people know. */
export interface Actor {
  type: 'person' | 'token' | 'service'
  id: string
  name: string
}
