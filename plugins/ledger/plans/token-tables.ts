/** The column and the triggers of plans in tokens. A window in tokens is a wallet like that of any
 *  other plan: it counts the tokens of a charge that the plan pays, and the account its nanos. */
import { byCaller } from '../views/usage-days.ts'
import { plannedInSql } from './part.ts'
import {
  IS_PLAN_SETTLED,
  IS_RELEASED_KEPT,
  planCredited,
  planReleased,
  planSettled,
} from './tables.ts'

/** `plan_tokens`: the tokens of the hold that the plan pays, and those of the charge once it is
 *  settled; `plan_held` has the nanos then. Null: the plan counts nanos. */
const COLUMN = 'ALTER TABLE charges ADD COLUMN plan_tokens BIGINT'
/** A settlement changes both columns. */
const SETTLED = planSettled(byCaller, {
  used: `coalesce(NEW.plan_tokens, ${plannedInSql('NEW')})`,
  heldPart: 'coalesce(OLD.plan_tokens, OLD.plan_held)',
  paid: 'OLD.plan_held',
})
const RELEASED = planReleased('coalesce(NEW.plan_tokens, NEW.plan_held)')
const CREDITED = planCredited(`coalesce(c.plan_tokens, ${plannedInSql('c')})`)

export const PLAN_TOKEN_TABLES = {
  text: `${COLUMN};
  DROP TRIGGER charges_plan_settled;
  CREATE TRIGGER charges_plan_settled AFTER UPDATE OF state ON charges
    WHEN ${IS_PLAN_SETTLED} BEGIN ${SETTLED}; END;
  DROP TRIGGER charges_plan_released;
  CREATE TRIGGER charges_plan_released AFTER UPDATE OF state ON charges
    WHEN ${IS_RELEASED_KEPT} AND NEW.plan IS NOT NULL BEGIN ${RELEASED} END;
  DROP TRIGGER credits_made;
  CREATE TRIGGER credits_made AFTER INSERT ON credits BEGIN ${CREDITED} END`,
  postgres: `${COLUMN};
  CREATE OR REPLACE FUNCTION tollgate_plan_settled() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    ${SETTLED}; RETURN NULL; END $$;
  CREATE OR REPLACE FUNCTION tollgate_plan_released() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    ${RELEASED} RETURN NULL; END $$;
  CREATE OR REPLACE FUNCTION tollgate_credited() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    ${CREDITED} RETURN NULL; END $$`,
} as const
