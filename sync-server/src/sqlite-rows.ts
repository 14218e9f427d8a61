import type { Confirmation, Snapshot } from '../../src/contract/session-snapshot.ts'
import type {
  ClaimRecord,
  Evidence,
  LogEntry,
  SessionChange,
  SessionRecord,
  TurnRecord,
} from './rules/session-state.ts'
import type { SqliteDriver, SqlRow } from './sqlite-driver.ts'
import type { DecisionScope, FeedPage, LogPage, StoredState } from './store.ts'

interface SessionKey {
  readonly account: string
  readonly sessionId: string
}

/** The statements of the store and what they mean: rows in, records out. The account is the first key of each. */
export interface SqliteRows {
  /** Reads what is looked at, when it is looked at; inside the transaction that called. */
  readonly state: (scope: DecisionScope) => StoredState
  readonly write: (scope: DecisionScope, state: StoredState, change: SessionChange) => void
  readonly updates: (key: SessionKey, after: number, maxBytes: number) => LogPage | undefined
  readonly feed: (account: string, since: number, maxItems: number) => FeedPage
}

export function createSqliteRows(driver: SqliteDriver): SqliteRows {
  const sql = prepareStatements(driver)

  function state(scope: DecisionScope): StoredState {
    const key = [scope.account, scope.sessionId] as const
    const session = once(() => readSession(sql.session.get(...key)))
    const snapshot = once(() => {
      const row = sql.snapshot.get(...key)
      return row ? (JSON.parse(String(row.body)) as Snapshot) : null
    })
    const claims = once(() => new Map(sql.claims.all(...key).map((row) => [String(row.token), readClaim(row)])))
    const lastWriteId = once(() => {
      const live = session()
      const row = live && sql.deviceWrite.get(...key, scope.device, live.incarnation)
      return row ? String(row.write_id) : null
    })
    const lease = once(() => readTurn(sql.lease.get(...key)))
    const turn = once(() => (scope.turnId === undefined ? null : readTurn(sql.turn.get(...key, scope.turnId))))
    const ended = once(() => new Set(sql.tombstones.all(...key).map((row) => String(row.incarnation))))
    const log = once((): readonly LogEntry[] => {
      const live = session()
      if (scope.logAfter === undefined || !live || live.head <= scope.logAfter) return []
      return sql.updates.all(...key, live.incarnation, scope.logAfter).map(readEntry)
    })
    return {
      get session() {
        return session()
      },
      get snapshot() {
        return snapshot()
      },
      get claims() {
        return claims()
      },
      get lastWriteId() {
        return lastWriteId()
      },
      get lease() {
        return lease()
      },
      get turn() {
        return turn()
      },
      get ended() {
        return ended()
      },
      get log() {
        return log()
      },
    }
  }

  function write({ account, sessionId, device }: DecisionScope, before: StoredState, change: SessionChange): void {
    const key = [account, sessionId] as const
    const { session, snapshot, end } = change
    if (end) {
      endIncarnation(account, sessionId, before, end)
      return
    }
    if (change.turn) {
      const { turnId, expiresAt, outcome } = change.turn
      sql.putTurn.run(...key, turnId, change.turn.device, expiresAt, outcome ?? null)
    }
    for (const claim of change.claims ?? []) putClaim(account, sessionId, claim)
    if (!session) {
      if (change.claims && before.session) sql.moveInFeed.run(nextFeedSeq(account), ...key)
      return
    }
    const { incarnation, cursor, writeId, initial, head, bytes } = session
    sql.putSession.run(...key, incarnation, cursor, writeId, initial, head, bytes, nextFeedSeq(account))
    if (snapshot) sql.putSnapshot.run(...key, JSON.stringify(snapshot))
    if (change.write) sql.putDeviceWrite.run(...key, device, incarnation, change.write.writeId, change.write.at)
    for (const update of change.updates ?? []) {
      sql.putUpdate.run(...key, incarnation, update.seq, update.device, update.at, update.bytes)
    }
  }

  function endIncarnation(
    account: string,
    sessionId: string,
    before: StoredState,
    { incarnation, sub, at }: NonNullable<SessionChange['end']>,
  ): void {
    const key = [account, sessionId] as const
    sql.putTombstone.run(...key, incarnation, sub, at, nextFeedSeq(account))
    if (before.session?.incarnation !== incarnation) return
    for (const remove of sql.removeSession) remove.run(...key)
    // That it was decided stays; what about goes with the session.
    sql.stripClaims.run(...key)
  }

  function putClaim(account: string, sessionId: string, claim: ClaimRecord): void {
    sql.putClaim.run(
      account,
      sessionId,
      claim.token,
      claim.incarnation,
      claim.status,
      claim.attempt,
      claim.doubt ? 1 : 0,
      claim.claimId ?? null,
      claim.device ?? null,
      claim.label ?? null,
      claim.sub ?? null,
      claim.at ?? null,
      claim.settledAt ?? null,
      claim.toolCallId,
      JSON.stringify(claim.confirmation),
      JSON.stringify(claim.evidence),
    )
  }

  function nextFeedSeq(account: string): number {
    return Number(sql.nextFeedSeq.get(account)?.head)
  }

  function updates({ account, sessionId }: SessionKey, after: number, maxBytes: number): LogPage | undefined {
    const session = readSession(sql.session.get(account, sessionId))
    if (!session) return undefined
    const { incarnation, head } = session
    const sizes = sql.updateSizes.all(account, sessionId, incarnation, after, UPDATES_PER_PAGE)
    let bytes = 0
    let last = after
    for (const row of sizes) {
      bytes += Number(row.size)
      if (bytes > maxBytes && last > after) break
      last = Number(row.seq)
    }
    const entries = last > after ? sql.updatesBetween.all(account, sessionId, incarnation, after, last) : []
    return { incarnation, head, entries: entries.map(readEntry), more: entries.length > 0 && last < head }
  }

  function feed(account: string, since: number, maxItems: number): FeedPage {
    const row = sql.feedHead.get(account)
    const rows = sql.feed.all(account, since, account, since, maxItems + 1)
    const entries = rows.slice(0, maxItems).map((it) => ({
      sessionId: String(it.session_id),
      incarnation: String(it.incarnation),
      seq: Number(it.feed_seq),
      cursor: Number(it.cursor),
      writeId: String(it.write_id),
      head: Number(it.head),
      deleted: it.deleted === 1,
    }))
    return { head: Number(row?.head ?? 0), floor: Number(row?.floor ?? 0), entries, more: rows.length > maxItems }
  }

  return { state, write, updates, feed }
}

const UPDATES_PER_PAGE = 5000

function prepareStatements(driver: SqliteDriver) {
  const one = 'account = ? AND session_id = ?'
  return {
    session: driver.prepare(`SELECT * FROM sessions WHERE ${one}`),
    snapshot: driver.prepare(`SELECT body FROM snapshots WHERE ${one}`),
    claims: driver.prepare(`SELECT * FROM claims WHERE ${one}`),
    deviceWrite: driver.prepare(`SELECT write_id FROM device_writes WHERE ${one} AND device = ? AND incarnation = ?`),
    lease: driver.prepare(
      `SELECT * FROM turns WHERE ${one} AND outcome IS NULL ORDER BY expires_at DESC, turn_id LIMIT 1`,
    ),
    turn: driver.prepare(`SELECT * FROM turns WHERE ${one} AND turn_id = ?`),
    tombstones: driver.prepare(`SELECT incarnation FROM tombstones WHERE ${one}`),
    updates: driver.prepare(`SELECT seq, bytes FROM updates WHERE ${one} AND incarnation = ? AND seq > ? ORDER BY seq`),
    updateSizes: driver.prepare(
      `SELECT seq, length(bytes) AS size FROM updates
       WHERE ${one} AND incarnation = ? AND seq > ? ORDER BY seq LIMIT ?`,
    ),
    updatesBetween: driver.prepare(
      `SELECT seq, bytes FROM updates WHERE ${one} AND incarnation = ? AND seq > ? AND seq <= ? ORDER BY seq`,
    ),
    feedHead: driver.prepare('SELECT head, floor FROM feeds WHERE account = ?'),
    feed: driver.prepare(
      `SELECT session_id, incarnation, feed_seq, cursor, write_id, head, 0 AS deleted
         FROM sessions WHERE account = ? AND feed_seq > ?
       UNION ALL
       SELECT session_id, incarnation, feed_seq, 0, '', 0, 1 FROM tombstones WHERE account = ? AND feed_seq > ?
       ORDER BY feed_seq LIMIT ?`,
    ),
    nextFeedSeq: driver.prepare(
      `INSERT INTO feeds (account, head, floor) VALUES (?, 1, 0)
       ON CONFLICT (account) DO UPDATE SET head = head + 1 RETURNING head`,
    ),
    moveInFeed: driver.prepare(`UPDATE sessions SET feed_seq = ? WHERE ${one}`),
    putSession: driver.prepare(
      `INSERT INTO sessions (account, session_id, incarnation, cursor, write_id, initial, head, bytes, feed_seq)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (account, session_id) DO UPDATE SET
         cursor = excluded.cursor, write_id = excluded.write_id, initial = excluded.initial,
         head = excluded.head, bytes = excluded.bytes, feed_seq = excluded.feed_seq`,
    ),
    putSnapshot: driver.prepare('INSERT OR REPLACE INTO snapshots (account, session_id, body) VALUES (?, ?, ?)'),
    putDeviceWrite: driver.prepare(
      `INSERT OR REPLACE INTO device_writes (account, session_id, device, incarnation, write_id, at)
       VALUES (?, ?, ?, ?, ?, ?)`,
    ),
    putClaim: driver.prepare(
      `INSERT OR REPLACE INTO claims
         (account, session_id, token, incarnation, status, attempt, doubt, claim_id, device, label, sub, at,
          settled_at, tool_call_id, confirmation, evidence)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    stripClaims: driver.prepare(
      `UPDATE claims SET confirmation = json_set(confirmation, '$.input', json('{}')) WHERE ${one}`,
    ),
    putTurn: driver.prepare(
      `INSERT OR REPLACE INTO turns (account, session_id, turn_id, device, expires_at, outcome)
       VALUES (?, ?, ?, ?, ?, ?)`,
    ),
    putUpdate: driver.prepare(
      `INSERT INTO updates (account, session_id, incarnation, seq, device, at, bytes) VALUES (?, ?, ?, ?, ?, ?, ?)`,
    ),
    putTombstone: driver.prepare(
      `INSERT INTO tombstones (account, session_id, incarnation, sub, at, feed_seq) VALUES (?, ?, ?, ?, ?, ?)`,
    ),
    removeSession: ['sessions', 'snapshots', 'device_writes', 'turns', 'updates'].map((table) =>
      driver.prepare(`DELETE FROM ${table} WHERE ${one}`),
    ),
  }
}

function readSession(row: SqlRow | undefined): SessionRecord | null {
  if (!row) return null
  return {
    incarnation: String(row.incarnation),
    cursor: Number(row.cursor),
    writeId: String(row.write_id),
    initial: row.initial === null ? null : String(row.initial),
    head: Number(row.head),
    bytes: Number(row.bytes),
  }
}

function readClaim(row: SqlRow): ClaimRecord {
  return {
    token: String(row.token),
    status: String(row.status) as ClaimRecord['status'],
    attempt: Number(row.attempt),
    doubt: row.doubt === 1,
    ...(row.claim_id !== null && { claimId: String(row.claim_id) }),
    ...(row.device !== null && { device: String(row.device) }),
    ...(row.label !== null && { label: String(row.label) }),
    ...(row.sub !== null && { sub: String(row.sub) }),
    ...(row.at !== null && { at: Number(row.at) }),
    ...(row.settled_at !== null && { settledAt: Number(row.settled_at) }),
    incarnation: String(row.incarnation),
    toolCallId: String(row.tool_call_id),
    confirmation: JSON.parse(String(row.confirmation)) as Confirmation,
    evidence: JSON.parse(String(row.evidence)) as Evidence[],
  }
}

function readTurn(row: SqlRow | undefined): TurnRecord | null {
  if (!row) return null
  const outcome = row.outcome === null ? undefined : (String(row.outcome) as TurnRecord['outcome'])
  return { turnId: String(row.turn_id), device: String(row.device), expiresAt: Number(row.expires_at), outcome }
}

function readEntry(row: SqlRow): LogEntry {
  return { seq: Number(row.seq), bytes: row.bytes as Uint8Array }
}

/** Reads at the first look and remembers. */
function once<T>(read: () => T): () => T {
  let value: { readonly is: T } | undefined
  return () => {
    value ??= { is: read() }
    return value.is
  }
}
