/** The shares of budgets that are alerts: each is reached once, in the transaction of the charge
 *  that reaches it, and sent once. */
import type { Row, Sql, Statement } from '../../../engine/plugin.ts'
import { NOW, NOW_ON_POSTGRES } from '../views/wallets.ts'

const sql = (name: string, text: string): Sql => ({ name: `budget alerts: ${name}`, text })

/** `share`: percent of the amount; `threshold`: nanos; `reached`, `sent`: ms since 1970. */
const TABLE = `
  CREATE TABLE budget_alerts (
    wallet BIGINT NOT NULL,
    share BIGINT NOT NULL,
    threshold BIGINT NOT NULL,
    reached BIGINT,
    sent BIGINT,
    PRIMARY KEY (wallet, share));
  CREATE INDEX budget_alerts_reached ON budget_alerts (reached) WHERE reached IS NOT NULL AND sent IS NULL`
const IS_USED = 'NEW.id < 0 AND NEW.used > OLD.used'
const reach = (now: string): string =>
  `UPDATE budget_alerts SET reached = ${now}
    WHERE wallet = NEW.id AND reached IS NULL AND threshold <= NEW.used;`

export const BUDGET_ALERT_TABLES = {
  text: `${TABLE};
  CREATE TRIGGER budgets_reached AFTER UPDATE OF used ON wallets WHEN ${IS_USED} BEGIN
    ${reach(NOW)} END`,
  postgres: `${TABLE};
  CREATE FUNCTION tollgate_budget_reached() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    ${reach(NOW_ON_POSTGRES)} RETURN NULL; END $$;
  CREATE TRIGGER budgets_reached AFTER UPDATE OF used ON wallets FOR EACH ROW
    WHEN (${IS_USED}) EXECUTE FUNCTION tollgate_budget_reached()`,
}

const KEEP = sql('keep', `DELETE FROM budget_alerts WHERE wallet = ? AND reached IS NULL`)
const SET: Sql = {
  name: 'budget alerts: set',
  text: `INSERT INTO budget_alerts (wallet, share, threshold, reached)
   SELECT w.id, CAST(? AS BIGINT), t.threshold, CASE WHEN w.used >= t.threshold THEN ${NOW} END
   FROM wallets w, (SELECT CAST(? AS BIGINT) AS threshold) t WHERE w.id = ?
   ON CONFLICT (wallet, share) DO NOTHING`,
  postgres: `INSERT INTO budget_alerts (wallet, share, threshold, reached)
   SELECT w.id, CAST(? AS BIGINT), t.threshold, CASE WHEN w.used >= t.threshold THEN ${NOW_ON_POSTGRES} END
   FROM wallets w, (SELECT CAST(? AS BIGINT) AS threshold) t WHERE w.id = ?
   ON CONFLICT (wallet, share) DO NOTHING`,
}
/** Gives a window these alerts. One that it has reached stays, so that it is sent once. */
export const setAlerts = (
  wallet: number,
  amount: bigint,
  shares: readonly number[],
): readonly Statement[] => [
  { sql: KEEP, values: [wallet] },
  ...shares.map(share => ({
    sql: SET,
    values: [share, (amount * BigInt(share)) / 100n, wallet],
  })),
]

/** Reached and not sent. `stored`: 1 if the owner has a budget of this name in the store.
 *  Parameters: the earliest time, row count. */
export const UNSENT = sql(
  'unsent',
  `SELECT a.wallet, a.share, b.budget, b.kind, b.owner, w.used, w.balance,
     CASE WHEN r.settings IS NULL THEN 0 ELSE 1 END AS stored
   FROM budget_alerts a JOIN budget_windows b ON b.wallet = a.wallet JOIN wallets w ON w.id = a.wallet
   LEFT JOIN budget_rows r ON r.kind = b.kind AND r.owner = b.owner AND r.name = b.budget
   WHERE a.reached >= ? AND a.sent IS NULL ORDER BY a.reached, a.wallet, a.share LIMIT ?`,
)
const MARK = sql(
  'mark',
  'UPDATE budget_alerts SET sent = ? WHERE wallet = ? AND share = ? AND sent IS NULL',
)
/** Rejects with BUDGET_ALERT_SENT if another process has sent it. */
export const markSent = ({ wallet, share }: Row, now: number): Statement => ({
  sql: MARK,
  values: [now, wallet ?? null, share ?? null],
  rows: 1,
  otherwise: 'BUDGET_ALERT_SENT',
})
