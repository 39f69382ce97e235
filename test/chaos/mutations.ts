/** Bugs in the handling of money, and the tests that must fail with each. */
import { edit, type Mutation } from './mutation.ts'
import { ofReplies } from './mutations-of-replies.ts'
import { ofUsage } from './mutations-of-usage.ts'
import { ofLimits } from './plans/mutations.ts'

const MODEL = 'test/plugins/ledger/model.property.test.ts'
const AT_ONCE = 'test/plugins/ledger/single-row-charge.test.ts'
const HOLDS = 'test/plugins/ledger/holds.test.ts'
const BILLED = 'test/suites/billed.test.ts'
const TABLES = 'plugins/ledger/tables.ts'
const KEPT_HOLD = 'test/plugins/ledger/kept-hold.test.ts'
const STATEMENTS = 'plugins/ledger/statements.ts'
const MEMBERSHIP = 'engine/store/membership.ts'
const REAPER = 'engine/store/reaper.ts'
const PROCESSES = 'plugins/ledger/crash/processes.ts'

export const mutations: readonly Mutation[] = [
  ...ofReplies,
  ...ofUsage,
  ...ofLimits,
  {
    bug: 'no unique request: the same call can be held and charged twice',
    edits: [edit(TABLES, 'request TEXT PRIMARY KEY,', 'request TEXT NOT NULL,')],
    tests: [MODEL, HOLDS],
  },
  {
    bug: 'check, then act: the available amount is read and reserved in two steps',
    edits: [
      edit(
        TABLES,
        'CONSTRAINT covered CHECK (limited = 0 OR balance - reserved >= -overdraft)',
        'CHECK (limited IN (0, 1))',
      ),
      edit(
        STATEMENTS,
        'WHERE id = ? AND ${ROOM} >= ? RETURNING granted',
        'WHERE id = ? AND ? > 0 RETURNING granted',
      ),
    ],
    tests: [MODEL, HOLDS],
  },
  {
    bug: 'a refund is given twice',
    edits: [
      edit(
        TABLES,
        'request TEXT UNIQUE,\n    note TEXT NOT NULL,\n    at BIGINT NOT NULL,\n    CHECK',
        'request TEXT,\n    note TEXT NOT NULL,\n    at BIGINT NOT NULL,\n    CHECK',
      ),
    ],
    tests: [MODEL],
  },
  {
    bug: 'a refund is written outside the transaction that undoes its call',
    edits: [edit('plugins/undo/undo.ts', 'lists: [list],', 'lists: list.map(each => [each]),')],
    tests: ['test/plugins/ledger/refunds/refund-undelivered.test.ts'],
  },
  {
    bug: 'usage is summed twice',
    edits: [edit('plugins/billing/sum.ts', '    sum += amount\n', '    sum += amount + amount\n')],
    tests: ['test/plugins/billing/price.test.ts', BILLED],
  },
  {
    bug: 'a price passes through a float',
    edits: [
      edit(
        'plugins/billing/sum.ts',
        '  quantity * price * (parts / per)',
        '  BigInt(Math.trunc(Number(quantity) * Number(price) * Number(parts / per)))',
      ),
    ],
    tests: ['test/plugins/billing/properties.test.ts'],
  },
  {
    bug: 'a charge that is closed is closed again',
    edits: [
      edit(
        TABLES,
        "WHEN OLD.state = 'open' AND NEW.state = 'settled' BEGIN ${SETTLED_AS_HELD}",
        "WHEN NEW.state = 'settled' BEGIN ${SETTLED_AS_HELD}",
      ),
      edit(
        TABLES,
        "    WHEN OLD.state <> 'open' BEGIN SELECT RAISE(ABORT, 'a closed charge does not change'); END;",
        "    WHEN OLD.state = 'never' BEGIN SELECT 1; END;",
      ),
      edit(
        STATEMENTS,
        "served = coalesce(CAST(? AS TEXT), served)\n   WHERE request = ? AND state = 'open'`",
        'served = coalesce(CAST(? AS TEXT), served)\n   WHERE request = ?`',
      ),
    ],
    tests: [MODEL, HOLDS],
  },
  {
    bug: 'a charged amount stays reserved',
    edits: [edit(TABLES, 'NEW.held ELSE NEW.amount END *', 'NEW.held ELSE 0 END *')],
    tests: [MODEL],
  },
  {
    bug: 'a kept hold stays reserved after its release',
    edits: [edit(TABLES, 'reserved - NEW.held *', 'reserved - 0 *')],
    tests: [KEPT_HOLD],
  },
  {
    bug: 'a kept hold stays in the lease of its process',
    edits: [edit('plugins/ledger/kept-hold.ts', ': [leaveShare([account, quotaWallet])]', ': []')],
    tests: [KEPT_HOLD],
  },
  {
    bug: 'reaped processes keep their holds',
    edits: [edit(PROCESSES, '  { sql: RELEASE_ALL, values: [now, process] },\n', '')],
    tests: [MODEL, HOLDS],
  },
  {
    bug: 'live processes are reaped',
    edits: [
      edit(
        REAPER,
        'DELETE FROM tollgate_processes WHERE id = ? AND beat = ?',
        'DELETE FROM tollgate_processes WHERE id = ? AND ? IS NOT NULL',
      ),
    ],
    tests: [MODEL],
  },
  {
    bug: 'a process is reaped while its on-crash statements remain',
    edits: [edit(REAPER, 'w.client = tollgate_processes.client OR', 'w.client = NULL OR')],
    tests: ['test/engine/store/membership.test.ts'],
  },
  {
    bug: 'a process of another folder applies on-crash statements whose progress it cannot read',
    edits: [
      edit(
        REAPER,
        'return isHere || peer.folder === undefined || this.#isFolderSilent(peer.folder, span, all)',
        'return true',
      ),
    ],
    tests: ['test/engine/store/postgres/reaping.test.ts'],
  },
  {
    bug: 'a crash charges a stream whose client has got nothing',
    edits: [edit('engine/store/values.ts', 'statements.some(hasNoProgress) ? [] :', '')],
    tests: ['test/engine/store/on-crash-statements.test.ts'],
  },
  {
    bug: 'a reaped process opens new holds',
    edits: [
      edit(
        STATEMENTS,
        'CAST(? AS BIGINT)${value} FROM ${PROCESSES_TABLE} WHERE id = ?`,',
        'CAST(? AS BIGINT)${value} FROM (SELECT ? AS id) AS ${PROCESSES_TABLE}`,',
      ),
    ],
    tests: [MODEL],
  },
  {
    bug: 'more is charged than is held',
    edits: [edit(TABLES, 'CHECK (amount >= 0 AND amount <= held)', 'CHECK (amount >= 0)')],
    tests: [MODEL, HOLDS],
  },
  {
    bug: 'an extension is not held',
    edits: [edit(STATEMENTS, 'SET held = held + ? WHERE', 'SET held = max(held, held - ?) WHERE')],
    tests: ['test/journeys/billed/overage.test.ts'],
  },
  {
    bug: 'a hold is extended before the call costs more than it: others are refused meanwhile',
    edits: [
      edit(
        'plugins/ledger/metered-call.ts',
        'nanos <= this.#heldAmount && this.#payer',
        'nanos * 10n <= this.#heldAmount * 9n && this.#payer',
      ),
      edit(
        'plugins/ledger/metered-call.ts',
        'isLacking = nanos > this.#heldAmount',
        'isLacking = nanos * 10n > this.#heldAmount * 9n',
      ),
    ],
    tests: ['test/journeys/concurrent-streams.test.ts'],
  },
  {
    bug: 'the audit orders the entries of an account by the clock',
    edits: [
      edit('plugins/ledger/audit.ts', 'id AS serial, 0 AS turn', 'at AS serial, 0 AS turn'),
      edit(
        'plugins/ledger/audit.ts',
        'SELECT account, serial, sum(',
        'SELECT account, closed AS serial, sum(',
      ),
      edit('plugins/ledger/audit.ts', 'GROUP BY account, serial)', 'GROUP BY account, closed)'),
    ],
    tests: ['test/plugins/ledger/audit-order.test.ts'],
  },
  {
    bug: 'what was reserved before a reaping belongs to the new registration',
    edits: [edit(MEMBERSHIP, 'return this.#registeredName === name', 'return name !== ""')],
    tests: ['test/plugins/ledger/reaped-process.test.ts'],
  },
  {
    bug: 'a lost extension leaves the charge open for good',
    edits: [edit(STATEMENTS, `'open' AND held < ?"`, `'open' AND held > ?"`)],
    tests: ['test/plugins/ledger/extend-hold.test.ts'],
  },
  {
    bug: 'a single-row charge is not taken from the lease',
    edits: [
      edit(
        'plugins/ledger/single-row-charge.ts',
        'SET amount = amount - ? WHERE process',
        'SET amount = amount - ? * 0 WHERE process',
      ),
    ],
    tests: [MODEL],
  },
  {
    bug: 'the first of added sums is lost',
    edits: [
      edit(
        'engine/store/merged-statements.ts',
        'values[at] = addValues(values[at], more[at])',
        'values[at] = more[at]',
      ),
    ],
    tests: ['test/engine/store/merged-statements.test.ts', AT_ONCE],
  },
  {
    bug: 'added sums are applied after the statement that reads them',
    edits: [
      edit(
        'engine/store/sqlite/group-commit.ts',
        'const mergedRefusal = merged && !isFirst ? applyMerged(store, merged, at) : undefined',
        'const mergedRefusal = undefined as Refusal | undefined',
      ),
    ],
    tests: ['test/engine/store/merged-statements.test.ts'],
  },
  {
    bug: 'a local reservation is charged after a reaping',
    edits: [
      edit(
        'plugins/ledger/single-row-charge.ts',
        "{ rows: 'some', otherwise: 'LEASE_GONE' } as const",
        "{ otherwise: 'LEASE_GONE' } as const",
      ),
    ],
    tests: [AT_ONCE],
  },
]
