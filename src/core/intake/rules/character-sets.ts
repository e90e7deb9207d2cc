/** 1 for the ASCII characters of a class. */
export const setOf = (characters: RegExp) =>
  Uint8Array.from({ length: 128 }, (_, code) => Number(characters.test(String.fromCharCode(code))))

export const isDigit = (code: number) => code >= 0x30 && code <= 0x39
