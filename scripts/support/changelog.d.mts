export function notesOf(changelog: string, version: string): string
export function dated(changelog: string, version: string, date: Date): string
