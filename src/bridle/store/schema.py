"""The tables, as numbered migrations. A migration is never changed after a release; add one."""

from __future__ import annotations

MIGRATIONS: tuple[str, ...] = (
    """
    create table threads (
        id text primary key,
        resource_id text not null,
        title text not null,
        harness_id text,
        workspace text,
        parent_thread text,
        parent_run text,
        parent_call text,
        depth integer not null,
        hidden integer not null,
        deleted integer not null default 0,
        metadata text not null,
        created_at text not null,
        updated_at text not null,
        messages integer not null default 0,
        head_seq integer not null default 0,
        head_hash text not null,
        lease_owner text,
        lease_epoch integer not null default 0,
        lease_since text,
        lease_expires real
    );
    create index threads_by_resource on threads (resource_id, updated_at);
    create index threads_by_parent on threads (parent_thread);

    create table events (
        thread_id text not null,
        seq integer not null,
        type text not null,
        run_id text,
        hash text not null,
        body blob not null,
        primary key (thread_id, seq)
    ) without rowid;

    create table inbox (
        input_id text primary key,
        thread_id text not null,
        seq integer not null,
        kind text not null,
        admitted_at text not null,
        done integer not null default 0
    );
    create index inbox_open on inbox (thread_id) where done = 0;

    create table runs (
        run_id text primary key,
        thread_id text not null,
        parent_run_id text,
        status text not null,
        reason text,
        verdict text,
        task text not null,
        model text,
        start_seq integer not null,
        started_at text not null,
        ended_at text,
        steps integer not null default 0,
        cost_usd real not null default 0
    );
    create index runs_by_start on runs (started_at);
    create index runs_by_thread on runs (thread_id, started_at);

    create table pending (
        id text primary key,
        kind text not null,
        run_id text not null,
        thread_id text not null,
        call_id text not null,
        tool text not null,
        args text not null,
        card text not null,
        created_at text not null
    );
    create index pending_by_call on pending (call_id);
    create index pending_by_run on pending (run_id);

    create table settings (
        thread_id text not null,
        key text not null,
        value text not null,
        primary key (thread_id, key)
    ) without rowid;

    create table accounts (
        id text primary key,
        parent_id text,
        max_usd real,
        max_tokens integer,
        spent_usd real not null default 0,
        spent_tokens integer not null default 0,
        reserved_usd real not null default 0,
        reserved_tokens integer not null default 0
    );
    create table reservations (
        id text primary key,
        account text not null,
        tokens integer not null,
        usd real not null,
        settled integer not null default 0
    );

    create table blobs (hash text primary key, body blob not null) without rowid;
    """,
)
