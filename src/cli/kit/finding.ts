/** A result of `wellhead doctor`. */
export interface Finding {
  name: string
  status: 'ok' | 'warning' | 'problem'
  message: string
  advice?: string
}
