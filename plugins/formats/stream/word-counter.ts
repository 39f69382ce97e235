/** Counts the tokens of words that arrive in pieces, one unfinished word for each member. A word
 *  (the text between two spaces) is one token; of a longer word, each four bytes are one. */

/** Bytes per token of a long word. */
const BYTES_PER_TOKEN = 4

export class WordCounter {
  /** Bytes of the unfinished word, by member. */
  readonly unfinishedWords: number[]
  /** Tokens of the finished words. */
  #finishedTokens = 0

  constructor(members: number) {
    this.unfinishedWords = new Array(members).fill(0)
  }
  /** Tokens of all words. */
  get tokens(): number {
    let sum = this.#finishedTokens
    for (const bytes of this.unfinishedWords) sum += tokensOfWord(bytes)
    return sum
  }
  /** Counts a finished word of so many bytes. */
  finish(bytes: number): void {
    this.#finishedTokens += tokensOfWord(bytes)
  }
  /** Adds bytes to the word of a member; 0: a space ends the word. */
  add(index: number, bytes: number): void {
    const word = this.unfinishedWords[index] ?? 0
    if (bytes === 0) this.finish(word)
    this.unfinishedWords[index] = bytes === 0 ? 0 : word + bytes
  }
}

const tokensOfWord = (bytes: number): number =>
  bytes === 0 ? 0 : Math.max(1, Math.floor(bytes / BYTES_PER_TOKEN))
