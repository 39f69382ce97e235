/** Words of the sandbox's texts: one word is one token and one chunk of a stream. Pure. */

/** Splits a text into words of at most 16 characters, each with the spaces that follow it. */
export const wordsOf = (text: string): readonly string[] => text.match(/\S{1,16}\s*|\s+/gu) ?? []
