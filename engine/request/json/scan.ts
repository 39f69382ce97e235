/** Runs the WebAssembly program of `scan.as` over JSON bodies: it checks a body several times as
 *  fast as `check.ts`, which decides what it is unsure of, and writes the body's outline. */
import { randomBytes } from 'node:crypto'
import type { JsonLimits } from './faults.ts'
import { PROGRAM } from './program.ts'
import type { Turn } from './repeated.ts'

interface Program {
  readonly memory: { readonly buffer: ArrayBuffer }
  windowAt(): number
  windowSize(): number
  outlineAt(): number
  outlineSize(): number
  spansAt(): number
  spanCount(): number
  endsAt(): number
  endCount(): number
  keyCount(): number
  setSeed(low: number, high: number): void
  begin(bytes: number, outlines: number, depth: number, objectKeys: number, keys: number): void
  /** Returns how many bytes of the window are done, or -1. */
  scan(bytes: number, isLast: number): number
}
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object) => { readonly exports: unknown }
}

export class BodyScan {
  readonly #program: Program | undefined
  readonly #memory: Buffer
  readonly #windowAt: number
  readonly #window: number
  readonly #outlineAt: number
  /** `window`: bytes of a body that are scanned at once, at most 64 KiB. */
  constructor(window?: number) {
    const program = startProgram()
    program?.setSeed(randomBytes(4).readInt32LE(), randomBytes(4).readInt32LE())
    this.#program = program
    this.#memory = Buffer.from(program?.memory.buffer ?? new ArrayBuffer(0))
    this.#windowAt = program?.windowAt() ?? 0
    this.#window = window ?? program?.windowSize() ?? 0
    this.#outlineAt = program?.outlineAt() ?? 0
  }
  /** Whether a body of valid UTF-8 is within the limits and has no key twice, if the rest of it is
   *  JSON; false also where the program is unsure. `outlines`: writes the outline as well. */
  accepts(body: Buffer, limits: JsonLimits, outlines = false): boolean {
    const program = this.#program
    if (!program) return false
    const { length } = body
    program.begin(length, Number(outlines), limits.depth, limits.keysPerObject, limits.keys)
    for (let at = 0; at < length; ) {
      const end = Math.min(length, at + this.#window)
      body.copy(this.#memory, this.#windowAt, at, end)
      const done = program.scan(end - at, Number(end === length))
      if (done < 0) return false
      at += done
    }
    return true
  }
  /** The outline of the body that was accepted last; undefined if it is larger than 256 KiB. */
  outline(isAscii: boolean): string | undefined {
    const size = this.#program?.outlineSize() ?? 0
    const [start, end] = [this.#outlineAt, this.#outlineAt + size]
    return size === 0 ? undefined : this.#memory.toString(isAscii ? 'latin1' : 'utf8', start, end)
  }
  /** Two numbers for each cut text of that outline, by its number: where the bytes of the body that
   *  it leaves out begin and end. */
  spans(): Uint32Array {
    const program = this.#program
    return this.#numbers(program?.spansAt(), 2 * (program?.spanCount() ?? 0))
  }
  /** Where elements and members end in the body that was accepted last, see `endsAt` in `scan.as`,
   *  and the number of its keys. */
  ends(): Pick<Turn, 'ends' | 'keys'> {
    const program = this.#program
    return {
      ends: this.#numbers(program?.endsAt(), program?.endCount()),
      keys: program?.keyCount() ?? 0,
    }
  }
  /** A copy of numbers in the memory of the program. */
  #numbers(at = 0, count = 0): Uint32Array {
    return new Uint32Array(this.#memory.buffer, at, count).slice()
  }
}
/** Undefined where the address space is limited: the memory of a program reserves gigabytes. */
const startProgram = (): Program | undefined => {
  const module = new WebAssembly.Module(Buffer.from(PROGRAM, 'base64'))
  try {
    return new WebAssembly.Instance(module).exports as Program
  } catch {
    return undefined
  }
}
