/** Bugs on the way of a response to the client: bytes sent before the hold, the progress record or
 *  the charge, wrong charges, and answers that no repetition gets. */
import { edit, type Mutation } from './mutation.ts'

const AT_ONCE = 'test/plugins/ledger/single-row-charge.test.ts'
const BILLED = 'test/suites/billed.test.ts'
const KEYED = 'test/chaos/creates/keyed-creates.test.ts'
const RECEIPT = 'plugins/ledger/receipt-filter.ts'

export const ofReplies: readonly Mutation[] = [
  {
    bug: 'the last byte does not wait for the charge',
    edits: [
      edit(
        'engine/response/response-writer.ts',
        'if (!this.call.durable) return this.#completeAtTurnEnd(tail)',
        'if (tail) return this.#completeAtTurnEnd(tail)',
      ),
    ],
    tests: ['test/engine/response/gates.test.ts'],
  },
  {
    bug: 'a failed call is charged',
    edits: [
      edit(
        'plugins/meter.ts',
        'if (exchange.reply.status >= 400) return call.release()',
        'if (exchange.reply.status >= 999) return call.release()',
      ),
    ],
    tests: [BILLED],
  },
  {
    bug: "the upstream's own usage is ignored",
    edits: [
      edit(
        'plugins/ledger/usage-estimator.ts',
        'if (usage && (!usage.estimated || usage.isFinalEstimate)) return usage',
        '',
      ),
    ],
    tests: [BILLED],
  },
  {
    bug: 'what was charged is given back to spend again',
    edits: [
      edit('plugins/ledger/admission/call-payer.ts', 'heldAmount - chargedAmount', 'heldAmount'),
    ],
    tests: [BILLED],
  },
  {
    bug: 'the words of a stream are sent before their progress is recorded',
    edits: [
      edit(
        'plugins/ledger/usage-estimator.ts',
        '    this.#call.reportProgress(outputSoFar?.tokens ?? this.#units)\n',
        '',
      ),
    ],
    tests: ['test/chaos/chaos.test.ts'],
  },
  {
    bug: 'an unrequested stream is sent without a hold',
    edits: [edit(RECEIPT, 'if (!isWhole) holdBeforeHead(exchange, call, estimator)', '')],
    tests: [AT_ONCE],
  },
  {
    bug: 'pieces of a plain answer are sent before its charge',
    edits: [
      edit(RECEIPT, 'write(chunk: Bytes): void {', 'write(chunk: Bytes, out: Out): void {'),
      edit(RECEIPT, 'this.#parts.push(chunk)', 'out.write(chunk)'),
    ],
    tests: [AT_ONCE],
  },
  {
    bug: 'an answer is not stored under its Idempotency-Key',
    edits: [
      edit(
        'plugins/idempotency/response-recorder.ts',
        'if (!isFinal(reply.status) || hasFailed()) return freeKey(request)',
        'if (reply.status > 0) return freeKey(request)',
      ),
    ],
    tests: [KEYED],
  },
  {
    bug: 'a change of an operator leaves its Idempotency-Key free',
    edits: [
      edit(
        'plugins/idempotency/index.ts',
        'return useUp(id, keyUse.mayShowSecret)',
        'return freeKey(id)',
      ),
    ],
    tests: [KEYED],
  },
  {
    bug: 'a cached content is answered without its row',
    edits: [
      edit('plugins/resources/operations.ts', 'addRow(attempt, { ...resource, details })', ''),
    ],
    tests: [KEYED],
  },
]
