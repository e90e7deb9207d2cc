export interface LoggedEntry {
  id: string
  timestamp: number
  project: string
  event_message: string
  metadata: unknown
}

export const queryArgument =
  'words of the message, and conditions such as status:>=500, path:/rest/* or NOT level:info'
